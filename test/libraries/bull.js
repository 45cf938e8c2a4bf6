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

import { failure, queue, quiet, session, shared, store } from "./bulls.js";
import { address, serve, Work } from "./commands.js";

// How a job fails, fail says; that it may be tried again is in its own options.
const again = { attempts: 1000, backoff: { type: "asTold" } };

async function add(s, name, n, options) {
  const jobs = Array.from({ length: n }, () => ({ data: {}, opts: { ...again, ...options } }));
  return (await queue(s, name).addBulk(jobs)).map((job) => String(job.id));
}

const commands = {
  ...shared,

  async open({ url, prefix = "bull" }) {
    const settings = { backoffStrategies: { asTold: (_attempts, error) => error.after * 1000 } };
    const options = { redis: address(url), prefix, settings };
    return store.add(session((name) => quiet(new Bull(name, options)), add));
  },

  async enqueue({ id, queue: name, n, job }) {
    const s = store.get(id);
    if (!job?.repeat) return add(s, name, n, job);
    const ids = [];
    for (let i = 0; i < n; i++) ids.push(String((await queue(s, name).add({}, { ...job, jobId: `repeated ${i}` })).id));
    return ids;
  },

  async start({ id, queue, n }) {
    const s = store.get(id);
    const work = new Work(n);
    const worker = s.open(queue);
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

  async fail({ id, queue, after }) {
    await store.get(id).crews.end(queue, failure(after));
  },

  async cancel({ id, queue: name, jobs }) {
    for (const job of jobs) await (await queue(store.get(id), name).getJob(job)).remove();
  },
};

// What a test left open may have lost its server, and would wait for it.
await serve(commands, () => process.exit());
