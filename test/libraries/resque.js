// Drives node-resque, which keeps to the keys of Resque and resque-scheduler. Times are seconds from now. The commands,
// besides the id that open answered:
//
//   open     {url, namespace}   → id; namespace is "resque" when it is absent
//   enqueue  {queue, n}         → [job id]: the argument by which each job differs
//   schedule {queue, n, after}  → [job id]; a negative after makes them due and not promoted
//   start    {queue, n}         has n workers claim a job each, and hold it
//   finish   {queue}            lets the held jobs complete, and ends their workers
//   fail     {queue, after}     lets them fail, to be tried again after a time, or never when that is absent
//   abandon  {queue}            → [name]: ends their workers as a crash does
//   cancel   {queue, jobs}      removes jobs from the queue by their ids
//   promote  {}                 has a scheduler promote what is due
//   report   {queue}            → {counts: {length, running, due, later, queues}}, as node-resque says; queues is how many
//                                 there are of that name
//   close    {}                 ends what is left, as abandon does
import { randomUUID } from "node:crypto";

import resque from "node-resque";

import { serve, Store, Work } from "./commands.js";

const store = new Store();
const noise = () => {}; // of connections, as when the server is stopped

// crew has n workers of a queue hold a job each. How these fail is said later, by the job's plugins.
async function crew(s, queue, n) {
  const work = new Work(n);
  const job = { perform: () => work.run(), plugins: [], pluginOptions: {} };
  const workers = [];
  for (let i = 0; i < n; i++) {
    const name = `host:${process.pid}+${randomUUID()}`;
    const worker = new resque.Worker({ connection: s.connection, queues: [queue], name, timeout: 50 }, { work: job });
    worker.on("error", noise);
    await worker.connect();
    worker.start();
    workers.push(worker);
  }
  s.crews.set(queue, [...(s.crews.get(queue) ?? []), { work, job, workers }]);
  await work.begun;
}

function take(s, queue) {
  const crews = s.crews.get(queue) ?? [];
  s.crews.delete(queue);
  return crews;
}

// end ends the workers of a queue, whose jobs end with the error, if there is one.
async function end(s, queue, error, retry) {
  for (const { work, job, workers } of take(s, queue)) {
    if (retry) Object.assign(job, { plugins: ["Retry"], pluginOptions: { Retry: retry } });
    const ended = workers.map((worker) => worker.end()); // they take no more jobs, and wait for the ones that they have
    work.end(error);
    await Promise.all(ended);
  }
}

// drop makes workers silent and leaves in Redis what they wrote there.
async function drop(s, queue) {
  const workers = take(s, queue).flatMap((c) => c.workers);
  for (const worker of workers) {
    worker.running = false;
    clearInterval(worker.pingTimer);
    await worker.queueObject.end();
  }
  return workers.map((worker) => worker.name);
}

// ids makes n new ones.
function ids(s, n) {
  return Array.from({ length: n }, () => String(++s.last));
}

const commands = {
  async open({ url, namespace = "resque" }) {
    const { hostname, port } = new URL(url);
    const connection = { pkg: "ioredis", host: hostname, port: Number(port), database: 0, namespace, options: {} };
    const queue = new resque.Queue({ connection });
    queue.on("error", noise);
    await queue.connect();
    return store.add({ connection, queue, crews: new Map(), last: 0 });
  },

  async enqueue({ id, queue, n }) {
    const s = store.get(id);
    const jobs = ids(s, n);
    for (const job of jobs) await s.queue.enqueue(queue, "work", [job]);
    return jobs;
  },

  async schedule({ id, queue, n, after }) {
    const s = store.get(id);
    const at = Date.now() + after * 1000;
    const jobs = ids(s, n);
    for (const job of jobs) await s.queue.enqueueAt(at, queue, "work", [job]);
    return jobs;
  },

  async start({ id, queue, n }) {
    await crew(store.get(id), queue, n);
  },

  async finish({ id, queue }) {
    await end(store.get(id), queue);
  },

  async fail({ id, queue, after }) {
    const retry = after === undefined ? undefined : { retryLimit: 1000, backoffStrategy: [after * 1000] };
    await end(store.get(id), queue, new Error("failed on purpose"), retry);
  },

  async abandon({ id, queue }) {
    return drop(store.get(id), queue);
  },

  async cancel({ id, queue, jobs }) {
    for (const job of jobs) await store.get(id).queue.del(queue, "work", [job]);
  },

  async promote({ id }) {
    const scheduler = new resque.Scheduler({ connection: store.get(id).connection, timeout: 50 });
    scheduler.on("error", noise);
    await scheduler.connect();
    await scheduler.poll();
    await scheduler.end();
  },

  async report({ id, queue }) {
    const s = store.get(id);
    const working = Object.values(await s.queue.allWorkingOn());
    const delayed = Object.entries(await s.queue.allDelayed()).map(([at, jobs]) => [Number(at), jobs.filter((job) => job.queue === queue).length]);
    const sum = (of) => delayed.filter(([at]) => of(at)).reduce((all, [, n]) => all + n, 0);
    const now = Date.now();
    const counts = {
      length: await s.queue.length(queue),
      running: working.filter((job) => job.queue === queue).length,
      due: sum((at) => at <= now),
      later: sum((at) => at > now),
      queues: (await s.queue.queues()).filter((name) => name === queue).length,
    };
    return { counts };
  },

  async close({ id }) {
    const s = store.take(id);
    for (const queue of [...s.crews.keys()]) await drop(s, queue);
    await s.queue.end();
  },
};

await serve(commands, async () => {
  for (const id of store.ids) await commands.close({ id });
});
