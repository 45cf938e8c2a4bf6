// Drives BullMQ. Releases by name of their npm alias: "bullmq3", "bullmq4", "bullmq5" and "bullmq6", whose calls are the
// same and whose keys are not. Times are seconds from now. The commands, besides the id that open answered:
//
//   open     {release, url, prefix}   → id; prefix is "bull" when it is absent
//   enqueue  {queue, n, job}          → [job id]; job is the library's options, such as {priority: 3}, {lifo: true} or
//                                       {repeat: {every: 60000}}
//   schedule {queue, n, after}        → [job id]; a negative after makes them due and not promoted
//   flow     {queue, n}               → [job id]: jobs that wait for a child of theirs in the queue `${queue}-children`
//   start    {queue, n}               has a worker claim n jobs that wait, and hold them
//   finish   {queue}                  lets the held jobs complete, and ends their workers
//   fail     {queue, after}           lets them fail, to be tried again after a time, or never when that is absent
//   abandon  {queue}                  ends their workers as a crash does: the jobs stay active
//   pause    {queue}, resume {queue}
//   limit    {queue, concurrency}     lets all workers together run as many jobs at once (5 and later)
//   cancel   {queue, jobs}            removes jobs by their ids
//   report   {queue}                  → {counts: {waiting: n, active: n, …}, paused, workers}, as BullMQ says
//   close    {}                       ends what is left, as abandon does
import { failure, queue, quiet, session, shared, store } from "./bulls.js";
import { address, serve, Work } from "./commands.js";

// How a job fails, fail says; that it may be tried again is in its own options.
const again = { attempts: 1000, backoff: { type: "custom" } };

async function add(s, name, n, options) {
  const jobs = Array.from({ length: n }, () => ({ name: "job", data: {}, opts: { ...again, ...options } }));
  return (await queue(s, name).addBulk(jobs)).map((job) => job.id);
}

const commands = {
  ...shared,

  async open({ release, url, prefix = "bull" }) {
    const connection = { ...address(url), maxRetriesPerRequest: null };
    const bullmq = await import(release), options = { connection, prefix };
    return store.add(session((name) => quiet(new bullmq.Queue(name, options)), add, { bullmq, options }));
  },

  async enqueue({ id, queue: name, n, job }) {
    const s = store.get(id);
    if (!job?.repeat) return add(s, name, n, job);
    const ids = [];
    for (let i = 0; i < n; i++) {
      const q = queue(s, name), key = `repeated ${i}`; // 6 knows no other way than a scheduler, which 5 brought
      ids.push((await (q.upsertJobScheduler?.(key, job.repeat) ?? q.add(key, {}, job))).id);
    }
    return ids;
  },

  async flow({ id, queue, n }) {
    const s = store.get(id);
    const flows = quiet(new s.bullmq.FlowProducer(s.options));
    const ids = [];
    for (let i = 0; i < n; i++) {
      const children = [{ name: "child", queueName: `${queue}-children` }];
      ids.push((await flows.add({ name: "parent", queueName: queue, children })).job.id);
    }
    await flows.close();
    return ids;
  },

  async start({ id, queue, n }) {
    const s = store.get(id);
    const work = new Work(n);
    const settings = { backoffStrategy: (_attempts, _type, error) => error.after * 1000 };
    const worker = quiet(new s.bullmq.Worker(queue, () => work.run(), { ...s.options, concurrency: n, settings }));
    s.crews.add(queue, worker, work);
    await work.begun;
  },

  async fail({ id, queue, after }) {
    const s = store.get(id);
    const forGood = () => new s.bullmq.UnrecoverableError("failed on purpose");
    await s.crews.end(queue, after === undefined ? forGood() : failure(after));
  },

  async limit({ id, queue: name, concurrency }) {
    await queue(store.get(id), name).setGlobalConcurrency(concurrency);
  },

  async cancel({ id, queue: name, jobs }) {
    for (const job of jobs) await queue(store.get(id), name).remove(job);
  },
};

// What a test left open may have lost its server, and would wait for it.
await serve(commands, () => process.exit());
