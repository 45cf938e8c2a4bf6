// What the producer programs share: commands come as one JSON object a line on standard input, {"do": name, …}, and each
// is answered by one line on standard output, {"result": …} or {"error": text}, in order. The end of the input is the
// end of the program.
import { createInterface } from "node:readline";

// serve answers commands with the functions of that name until the input ends, then calls end.
export async function serve(commands, end) {
  // Standard output belongs to the answers; libraries that log write to standard error.
  console.log = console.info = console.debug = console.error;
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...args } = JSON.parse(line);
    let answer;
    try {
      if (!Object.hasOwn(commands, name)) throw new Error(`unknown command ${name}`);
      answer = { result: (await commands[name](args)) ?? null };
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  await end();
}

// A Store keeps what was opened, by the number that open answered.
export class Store {
  #opened = new Map();
  #last = 0;

  add(value) {
    this.#opened.set(++this.#last, value);
    return this.#last;
  }

  get(id) {
    if (!this.#opened.has(id)) throw new Error(`nothing is open as ${id}`);
    return this.#opened.get(id);
  }

  take(id) {
    const value = this.get(id);
    this.#opened.delete(id);
    return value;
  }

  get ids() {
    return [...this.#opened.keys()];
  }
}

// Work holds the jobs that n workers, or one of n jobs at once, have claimed, until one says how they end.
export class Work {
  #missing;
  #allBegun;
  #decide;

  constructor(n) {
    this.#missing = n;
    this.begun = new Promise((resolve) => (this.#allBegun = resolve)); // when n jobs have
    this.verdict = new Promise((resolve) => (this.#decide = resolve));
  }

  // run is what a worker does with a job. It throws what end was given, if that was anything.
  async run() {
    if (--this.#missing === 0) this.#allBegun();
    const error = await this.verdict;
    if (error) throw error;
  }

  end(error) {
    this.#decide(error);
  }
}

// Crews keeps the workers that hold jobs, and their Work, by queue.
export class Crews {
  #of = new Map();
  #abandon;

  // abandon ends a worker without waiting for its jobs.
  constructor(abandon) {
    this.#abandon = abandon;
  }

  add(queue, worker, work) {
    this.#of.set(queue, [...this.#take(queue), { worker, work }]);
  }

  // end lets the jobs of a queue end, with an error if there is one, and then their workers.
  async end(queue, error) {
    for (const { worker, work } of this.#take(queue)) {
      const closed = worker.close(); // which fetches no more, and waits for the jobs that it has
      work.end(error);
      await closed;
    }
  }

  async abandon(queue) {
    for (const { worker } of this.#take(queue)) await this.#abandon(worker);
  }

  async abandonAll() {
    for (const queue of [...this.#of.keys()]) await this.abandon(queue);
  }

  #take(queue) {
    const crews = this.#of.get(queue) ?? [];
    this.#of.delete(queue);
    return crews;
  }
}

// address is what a Redis URL says, for libraries that take it in parts.
export function address(url) {
  const { hostname, port, username, password } = new URL(url);
  const options = { host: hostname, port: Number(port) };
  if (username) options.username = decodeURIComponent(username);
  if (password) options.password = decodeURIComponent(password);
  return options;
}
