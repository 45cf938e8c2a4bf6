// The connection: events come over fetch, because the browser's own EventSource sends no token.

// A Refused is an answer that is not the one asked for.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// silence is how long the server may say nothing, in ms. It says that it is alive every 15 s.
const silence = 40_000;

// ask sends a request with the token, if there is one.
export async function ask(path, token, options = {}) {
  const headers = new Headers(options.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "same-origin" });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refused(response.status, body.error || `The server answered ${response.status}.`);
}

// follow calls on(event, data, now) for each event until the stream ends. It throws when it cannot be had, and when
// signal is aborted.
export async function follow(token, signal, on) {
  const silent = new AbortController();
  const either = AbortSignal.any([signal, silent.signal]);
  let watch;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(() => silent.abort(new Error("the server is silent")), silence);
  };
  heard();
  try {
    const response = await ask("page/events", token, { signal: either });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      events.forEach((event) => deliver(event, on));
    }
  } finally {
    clearTimeout(watch);
  }
}

function deliver(event, on) {
  let name = "", data = "";
  for (const line of event.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!name) return; // a sign of life
  const message = JSON.parse(data);
  on(name, message.data, message.now);
}
