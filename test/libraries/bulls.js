// What bull.js and bullmq.js share: Bull and BullMQ have the same calls for most of what is asked of them.
import { Crews, Store } from "./commands.js";

export const store = new Store();

// session is what open keeps: how it opens a queue by its name, how it adds jobs, and what else the program wants of it.
// add takes the session, the queue's name, a number and the library's options for the jobs, and returns their ids.
export function session(open, add, more) {
  return { ...more, open, add, queues: new Map(), crews: new Crews((worker) => worker.close(true)) };
}

// queue opens a queue when it is first named.
export function queue(s, name) {
  if (!s.queues.has(name)) s.queues.set(name, s.open(name));
  return s.queues.get(name);
}

// quiet lets a queue or a worker say nothing of errors of its connection, as when the server is stopped.
export function quiet(q) {
  q.on("error", () => {});
  return q;
}

// failure is how a job fails that is to be tried again after a time.
export function failure(after) {
  return Object.assign(new Error("failed on purpose"), { after });
}

// shared are the commands that are the same for both.
export const shared = {
  async schedule({ id, queue: name, n, after }) {
    const s = store.get(id), delay = Math.max(after, 1) * 1000;
    return s.add(s, name, n, { delay, timestamp: Math.round(Date.now() + after * 1000 - delay) });
  },

  async finish({ id, queue: name }) {
    await store.get(id).crews.end(name);
  },

  async abandon({ id, queue: name }) {
    await store.get(id).crews.abandon(name);
  },

  async pause({ id, queue: name }) {
    await queue(store.get(id), name).pause();
  },

  async resume({ id, queue: name }) {
    await queue(store.get(id), name).resume();
  },

  async report({ id, queue: name }) {
    const q = queue(store.get(id), name);
    return { counts: await q.getJobCounts(), paused: await q.isPaused(), workers: (await q.getWorkers()).length };
  },

  async close({ id }) {
    const s = store.take(id);
    await s.crews.abandonAll();
    for (const q of s.queues.values()) await q.close();
  },
};
