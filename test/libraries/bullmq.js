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
import { address, Crews, serve, Store, Work } from "./commands.js";

const store = new Store();

// queue opens a queue when it is first named.
function queue(s, name) {
  if (!s.queues.has(name)) {
    const q = new s.bullmq.Queue(name, s.options);
    q.on("error", () => {}); // of the connection, as when the server is stopped
    s.queues.set(name, q);
  }
  return s.queues.get(name);
}

// How a job fails, fail says; that it may be tried again is in its own options.
const again = { attempts: 1000, backoff: { type: "custom" } };

async function add(s, name, n, options) {
  const jobs = Array.from({ length: n }, () => ({ name: "job", data: {}, opts: { ...again, ...options } }));
  return (await queue(s, name).addBulk(jobs)).map((job) => job.id);
}

const commands = {
  async open({ release, url, prefix = "bull" }) {
    const connection = { ...address(url), maxRetriesPerRequest: null };
    return store.add({
      bullmq: await import(release), options: { connection, prefix }, queues: new Map(),
      crews: new Crews((worker) => worker.close(true)),
    });
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

  async schedule({ id, queue, n, after }) {
    const delay = Math.max(after, 1) * 1000;
    return add(store.get(id), queue, n, { delay, timestamp: Math.round(Date.now() + after * 1000 - delay) });
  },

  async flow({ id, queue, n }) {
    const s = store.get(id);
    const flows = new s.bullmq.FlowProducer(s.options);
    flows.on("error", () => {});
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
    const worker = new s.bullmq.Worker(queue, () => work.run(), { ...s.options, concurrency: n, settings });
    worker.on("error", () => {});
    s.crews.add(queue, worker, work);
    await work.begun;
  },

  async finish({ id, queue }) {
    await store.get(id).crews.end(queue);
  },

  async fail({ id, queue, after }) {
    const s = store.get(id);
    const error = after === undefined
      ? new s.bullmq.UnrecoverableError("failed on purpose")
      : Object.assign(new Error("failed on purpose"), { after });
    await s.crews.end(queue, error);
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

  async limit({ id, queue: name, concurrency }) {
    await queue(store.get(id), name).setGlobalConcurrency(concurrency);
  },

  async cancel({ id, queue: name, jobs }) {
    for (const job of jobs) await queue(store.get(id), name).remove(job);
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
