// Drives pg-boss. Releases by name of their npm alias: "pg-boss" (the newest), "pg-boss-9", "pg-boss-10", "pg-boss-11" and
// "pg-boss-12.27". Their calls differ; what the commands mean does not.
import { serve, Store } from "./commands.js";

const store = new Store();

// adapt gives all releases one interface.
function adapt(boss, release) {
  if (release === "pg-boss-9") {
    return {
      create: async () => {}, // a queue is there once it has a job
      insert: (queue, jobs) => boss.insert(jobs.map((job) => ({ name: queue, ...job }))),
      fetch: async (queue, n) => (await boss.fetch(queue, n)) ?? [],
      complete: (queue, ids) => boss.complete(ids),
      fail: (queue, ids) => boss.fail(ids),
      cancel: (queue, ids) => boss.cancel(ids),
      stats: async (queue) => ({ queued: await boss.getQueueSize(queue) }),
    };
  }
  const byName = {
    create: (queue, options) => boss.createQueue(queue, options),
    complete: (queue, ids) => boss.complete(queue, ids),
    fail: (queue, ids) => boss.fail(queue, ids),
    cancel: (queue, ids) => boss.cancel(queue, ids),
    fetch: (queue, n) => boss.fetch(queue, { batchSize: n }),
  };
  if (release === "pg-boss-10") {
    return {
      ...byName,
      create: (queue) => boss.createQueue(queue, { policy: "standard" }),
      insert: (queue, jobs) => boss.insert(jobs.map((job) => ({ name: queue, ...job }))),
      stats: async (queue) => ({ queued: await boss.getQueueSize(queue) }),
    };
  }
  return {
    ...byName,
    insert: (queue, jobs) => boss.insert(queue, jobs),
    stats: async (queue) => {
      let stats = await boss.getQueueStats(queue, { force: true });
      if (Array.isArray(stats)) stats = stats[0];
      return { queued: stats.queuedCount, ready: stats.readyCount, active: stats.activeCount, deferred: stats.deferredCount };
    },
  };
}

const commands = {
  // open makes pg-boss's schema and answers the number by which the others name it.
  async open({ release, url, schema }) {
    const module = await import(release);
    const PgBoss = module.PgBoss ?? module.default;
    const boss = new PgBoss({
      connectionString: url, schema, max: 4, supervise: false, schedule: false, noSupervisor: true, noScheduling: true,
      instanceHeartbeatSeconds: 1,
    });
    boss.on("error", () => {}); // the database is dropped right after close
    await boss.start();
    return store.add({ boss, adapter: adapt(boss, release) });
  },

  // create makes a queue with the library's options.
  async create({ id, queue, options }) {
    await store.get(id).adapter.create(queue, options ?? undefined);
  },

  // insert adds n jobs with the library's options for them.
  async insert({ id, queue, n, job }) {
    await store.get(id).adapter.insert(queue, Array.from({ length: n }, () => ({ data: {}, ...job })));
  },

  // take claims n jobs, as a worker does, and then: "hold" leaves them active, "complete", "fail" and, before they are
  // claimed by anybody, nothing else.
  async take({ id, queue, n, then }) {
    const { adapter } = store.get(id);
    const jobs = await adapter.fetch(queue, n);
    if (jobs.length !== n) throw new Error(`fetched ${jobs.length} jobs of ${queue}, want ${n}`);
    const ids = jobs.map((job) => job.id);
    if (then !== "hold") await adapter[then](queue, ids);
    return ids;
  },

  // cancel cancels jobs that wait.
  async cancel({ id, queue, jobs }) {
    await store.get(id).adapter.cancel(queue, jobs);
  },

  // serve starts workers of a queue with the library's options, which hold each job that they get.
  async serve({ id, queue, options }) {
    await store.get(id).boss.work(queue, options, () => new Promise(() => {}));
  },

  // stats answers what the library says of a queue.
  async stats({ id, queue }) {
    return store.get(id).adapter.stats(queue);
  },

  async close({ id }) {
    const { boss } = store.take(id);
    await boss.stop({ graceful: false, wait: true, close: true });
  },
};

await serve(commands, async () => {
  for (const id of store.ids) await commands.close({ id });
});
