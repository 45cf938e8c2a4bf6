// The page: who looks, the connection, and what of it is drawn when.

import { text } from "./dom.js";
import { clock, count } from "./format.js";
import { Refused, follow } from "./stream.js";
import { past } from "./past.js";
import { drawSources } from "./sources.js";
import { drawQueues, drawTotals } from "./queues.js";
import { drawTriggers } from "./triggers.js";
import { setUpExplain } from "./explain.js";

const $ = (id) => document.getElementById(id);
const tokenKey = "leadsman.token";

// state is the latest of what the server has said.
const state = { sources: [], queues: new Map(), triggers: { triggers: [], leftOut: 0 } };

const session = {
  get token() {
    return sessionStorage.getItem(tokenKey);
  },
  set token(token) {
    if (token) sessionStorage.setItem(tokenKey, token);
    else sessionStorage.removeItem(tokenKey);
  },
};

const receive = {
  caller: ({ name }) => {
    text($("caller"), name === "anyone" ? "" : name);
    $("sign-out").hidden = !session.token;
  },
  sources: (sources) => {
    state.sources = sources;
    const names = new Set(sources.map((source) => source.name));
    for (const name of state.queues.keys()) if (!names.has(name)) state.queues.delete(name);
  },
  queues: (queues) => state.queues.set(queues.source, queues),
  triggers: (triggers) => (state.triggers = triggers),
  history: (history) => past.add(history),
  end: ({ error }) => setStatus("lost", error),
};

let drawing = false;

// draw shows the latest state with the next frame, however many events come before it.
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    if ($("shown").hidden) return;
    const queues = state.sources.flatMap((source) =>
      (state.queues.get(source.name)?.queues ?? []).map((queue) => ({ ...queue, source: source.name, stale: Boolean(source.error) })),
    );
    const leftOut = [...state.queues.values()].reduce((n, { leftOut }) => n + leftOut, 0);
    drawTotals(queues);
    drawSources(state.sources);
    drawQueues(queues, leftOut, state.sources);
    drawTriggers(state.triggers);
    const ready = queues.reduce((n, queue) => n + queue.ready, 0);
    document.title = ready ? `${count(ready)} ready · leadsman` : "leadsman";
  });
}

function setStatus(kind, words) {
  $("status").dataset.state = kind;
  text($("status"), words);
}

// show switches between the page and the form that asks for a token.
function show(what) {
  $("sign-in").hidden = what !== "sign-in";
  $("shown").hidden = what !== "shown";
}

let connection = new AbortController();

// connect keeps a stream open until it is called again or the caller has to sign in.
async function connect() {
  connection.abort();
  const mine = (connection = new AbortController());
  for (let wait = 500; !mine.signal.aborted; wait = Math.min(2 * wait, 10_000)) {
    try {
      await follow(session.token, mine.signal, (event, data, now) => {
        wait = 250;
        clock.set(now);
        if (event === "caller") {
          setStatus("live", "Live");
          show("shown");
        }
        receive[event]?.(data);
        draw();
      });
      setStatus("lost", "Connection lost; trying again…");
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
        signIn(error);
        return;
      }
      setStatus("lost", error instanceof Refused ? error.message : "The server cannot be reached; trying again…");
    }
    await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
  }
}

// signIn asks for a token, and says what was wrong with the last one.
function signIn(error) {
  const tried = session.token;
  forget();
  setStatus("out", "Signed out");
  let words = "";
  if (tried) words = error.status === 401 ? "The server does not take this token: it is mistyped, expired or withdrawn." : error.message;
  text($("sign-in-error"), words);
  show("sign-in");
  $("token").focus();
}

// forget drops the token and all that was shown for it.
function forget() {
  session.token = null;
  state.sources = [];
  state.queues.clear();
  state.triggers = { triggers: [], leftOut: 0 };
  past.clear();
  text($("caller"), "");
  text($("explained"), "");
  $("sign-out").hidden = true;
  document.title = "leadsman";
  drawSources([]);
  drawQueues([], 0, []);
  drawTriggers(state.triggers);
}

$("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  session.token = $("token").value.trim();
  $("token").value = "";
  text($("sign-in-error"), "");
  setStatus("connecting", "Connecting…");
  connect();
});

$("sign-out").addEventListener("click", () => {
  forget();
  setStatus("connecting", "Connecting…");
  connect(); // it comes to the form, unless a certificate is good enough
});

$("filter").addEventListener("input", draw);
setUpExplain(() => session.token, () => state, signIn);
setInterval(draw, 1000); // ages grow
connect();
