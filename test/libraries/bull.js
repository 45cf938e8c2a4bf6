// Drives Bull 4. Times are seconds from now. The commands, besides the id that open answered:
//
//   open     {url, prefix}            → id; prefix is "bull" when it is absent
//   enqueue  {queue, n, job}          → [job id]; job is the library's options, such as {priority: 3}, {lifo: true} or
//                                       {repeat: {every: 60000}}
//   schedule {queue, n, after}        → [job id]; a negative after makes them due and not promoted
//   start    {queue, n}               has a worker claim n jobs that wait, and hold them
//   finish   {queue}                  lets the held jobs complete, and ends their workers
//   fail     {queue, after}           lets them fail, to be tried again after a time, or never when that is absent
//   abandon  {queue}                  ends their workers as a crash does: the jobs stay active
//   pause    {queue}, resume {queue}
//   cancel   {queue, jobs}            removes jobs by their ids
//   report   {queue}                  → {counts: {waiting: n, active: n, …}, paused, workers}, as Bull says
//   close    {}                       ends what is left, as abandon does
import Bull from "bull";

import { address, Crews, serve, Store, Work } from "./commands.js";

const store = new Store();

function open(s, name) {
  const q = new Bull(name, s.options);
  q.on("error", () => {}); // of the connection, as when the server is stopped
  return q;
}

// queue opens a queue when it is first named.
function queue(s, name) {
  if (!s.queues.has(name)) s.queues.set(name, open(s, name));
  return s.queues.get(name);
}

// How a job fails, fail says; that it may be tried again is in its own options.
const again = { attempts: 1000, backoff: { type: "asTold" } };

async function add(s, name, n, options) {
  const jobs = Array.from({ length: n }, () => ({ data: {}, opts: { ...again, ...options } }));
  return (await queue(s, name).addBulk(jobs)).map((job) => String(job.id));
}

const commands = {
  async open({ url, prefix = "bull" }) {
    const settings = { backoffStrategies: { asTold: (_attempts, error) => error.after * 1000 } };
    const options = { redis: address(url), prefix, settings };
    return store.add({ options, queues: new Map(), crews: new Crews((worker) => worker.close(true)) });
  },

  async enqueue({ id, queue: name, n, job }) {
    const s = store.get(id);
    if (!job?.repeat) return add(s, name, n, job);
    const ids = [];
    for (let i = 0; i < n; i++) ids.push(String((await queue(s, name).add({}, { ...job, jobId: `repeated ${i}` })).id));
    return ids;
  },

  async schedule({ id, queue, n, after }) {
    const delay = Math.max(after, 1) * 1000;
    return add(store.get(id), queue, n, { delay, timestamp: Math.round(Date.now() + after * 1000 - delay) });
  },

  async start({ id, queue, n }) {
    const s = store.get(id);
    const work = new Work(n);
    const worker = open(s, queue);
    s.crews.add(queue, worker, work);
    worker.process(n, async (job) => {
      try {
        await work.run();
      } catch (error) {
        if (error.after === undefined) await job.discard();
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

  async pause({ id, queue: name }) {
    await queue(store.get(id), name).pause();
  },

  async resume({ id, queue: name }) {
    await queue(store.get(id), name).resume();
  },

  async cancel({ id, queue: name, jobs }) {
    for (const job of jobs) await (await queue(store.get(id), name).getJob(job)).remove();
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

// What a test left open may have lost its server, and would wait for it.
await serve(commands, () => process.exit());
