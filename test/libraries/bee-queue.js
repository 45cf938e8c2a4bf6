// Drives Bee-Queue, which knows neither priorities nor pauses. Times are seconds from now. The commands, besides the id that
// open answered:
//
//   open     {url, prefix}            → id; prefix is "bq" when it is absent
//   enqueue  {queue, n}               → [job id]
//   schedule {queue, n, after}        → [job id]
//   start    {queue, n}               has a worker claim n jobs that wait, and hold them
//   finish   {queue}                  lets the held jobs complete, and ends their workers
//   fail     {queue, after}           lets them fail, to be tried again after a time, or never when that is absent
//   abandon  {queue}                  ends their workers as a crash does: the jobs stay active
//   cancel   {queue, jobs}            removes jobs by their ids
//   report   {queue}                  → {counts: {waiting: n, active: n, …}, paused: false, workers: 0}, as Bee-Queue says
//   close    {}                       ends what is left, as abandon does
import BeeQueue from "bee-queue";

import { address, Crews, serve, Store, Work } from "./commands.js";

const store = new Store();

async function open(s, name, isWorker) {
  const q = new BeeQueue(name, { ...s.options, isWorker, activateDelayedJobs: isWorker, getEvents: false });
  q.on("error", () => {}); // of the connection, as when the server is stopped
  await q.ready();
  return q;
}

// queue opens a queue when it is first named.
async function queue(s, name) {
  if (!s.queues.has(name)) s.queues.set(name, await open(s, name, false));
  return s.queues.get(name);
}

async function add(s, name, n, change = (job) => job) {
  const q = await queue(s, name);
  const ids = [];
  for (let i = 0; i < n; i++) ids.push((await change(q.createJob({})).save()).id);
  return ids;
}

const commands = {
  async open({ url, prefix = "bq" }) {
    return store.add({ options: { redis: address(url), prefix }, queues: new Map(), crews: new Crews(abandon) });
  },

  async enqueue({ id, queue, n }) {
    return add(store.get(id), queue, n);
  },

  async schedule({ id, queue, n, after }) {
    return add(store.get(id), queue, n, (job) => job.delayUntil(Date.now() + after * 1000));
  },

  async start({ id, queue, n }) {
    const s = store.get(id);
    const work = new Work(n);
    const worker = await open(s, queue, true);
    s.crews.add(queue, worker, work);
    worker.process(n, async (job) => {
      try {
        await work.run();
      } catch (error) {
        // Bee-Queue has the job say whether it may be tried again, and when.
        if (error.after !== undefined) job.retries(1).backoff("fixed", error.after * 1000);
        throw error;
      }
    });
    await work.begun;
  },

  async finish({ id, queue }) {
    await store.get(id).crews.end(queue);
  },

  async fail({ id, queue, after }) {
    await store.get(id).crews.end(queue, Object.assign(new Error("failed on purpose"), { after }));
  },

  async abandon({ id, queue }) {
    await store.get(id).crews.abandon(queue);
  },

  async cancel({ id, queue: name, jobs }) {
    const q = await queue(store.get(id), name);
    for (const job of jobs) await q.removeJob(job);
  },

  async report({ id, queue: name }) {
    const { newestJob: _, ...counts } = await (await queue(store.get(id), name)).checkHealth();
    return { counts, paused: false, workers: 0 };
  },

  async close({ id }) {
    const s = store.take(id);
    await s.crews.abandonAll();
    for (const q of s.queues.values()) await q.close();
  },
};

// abandon closes a worker that has jobs, which says that it had to wait for them.
async function abandon(worker) {
  try {
    await worker.close(1);
  } catch (error) {
    if (!/Operation timed out/.test(error.message)) throw error;
  }
}

// What a test left open may have lost its server, and would wait for it.
await serve(commands, () => process.exit());
