// Drives Graphile Worker. Releases by name of their npm alias: "graphile-worker" (the newest) and "graphile-worker-0.16".
import pg from "pg";

import { serve, Store } from "./commands.js";

const store = new Store();

const quiet = (graphile) => new graphile.Logger(() => () => {});

const commands = {
  // open migrates the schema and answers the number by which the others name it.
  async open({ release, url, schema }) {
    const graphile = await import(release);
    const pgPool = new pg.Pool({ connectionString: url, max: 10 });
    // The database is dropped right after close, and may take along a connection that is just being closed.
    pgPool.on("error", () => {});
    pgPool.on("connect", (client) => client.on("error", () => {}));
    const options = { pgPool, schema, logger: quiet(graphile) };
    const utils = await graphile.makeWorkerUtils(options);
    await utils.migrate();
    return store.add({ graphile, options, utils, runners: [], release: [] });
  },

  // add enqueues jobs of a task and answers their ids.
  async add({ id, task, n, spec }) {
    const { utils } = store.get(id);
    const { runAt, ...rest } = spec ?? {};
    const ids = [];
    for (let i = 0; i < n; i++) {
      const job = await utils.addJob(task, {}, { ...rest, ...(runAt && { runAt: new Date(runAt) }) });
      ids.push(String(job.id));
    }
    return ids;
  },

  // work runs n jobs of a task at once: mode "hold" answers when all have begun and holds them until close, "finish" and
  // "fail" answer when all have ended so.
  async work({ id, task, n, mode }) {
    const s = store.get(id);
    let begun = 0;
    let allBegun;
    const held = new Promise((resolve) => (allBegun = resolve));
    const release = new Promise((resolve) => s.release.push(resolve));
    const runner = await s.graphile.run({
      ...s.options,
      concurrency: n,
      pollInterval: 200,
      noHandleSignals: true,
      taskList: {
        [task]: async () => {
          if (++begun === n) allBegun();
          if (mode === "hold") await release;
          if (mode === "fail") throw new Error("failed on purpose");
        },
      },
    });
    s.runners.push(runner);
    await held;
    if (mode !== "hold") {
      s.runners.splice(s.runners.indexOf(runner), 1);
      await runner.stop(); // waits for the jobs to be marked as ended
    }
  },

  // reschedule makes jobs due at another time.
  async reschedule({ id, jobs, runAt }) {
    return (await store.get(id).utils.rescheduleJobs(jobs, { runAt: new Date(runAt) })).length;
  },

  // giveUp makes jobs fail for good.
  async giveUp({ id, jobs }) {
    return (await store.get(id).utils.permanentlyFailJobs(jobs, "given up on purpose")).length;
  },

  async close({ id }) {
    const s = store.take(id);
    for (const release of s.release) release();
    await Promise.all(s.runners.map((runner) => runner.stop()));
    await s.utils.release();
    await s.options.pgPool.end();
  },
};

await serve(commands, async () => {
  for (const id of store.ids) await commands.close({ id });
});
