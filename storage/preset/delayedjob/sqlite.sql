-- Delayed Job on SQLite: one row per wanted queue, from one pass over the table, which has no index that knows queues.
--
-- Active Record stores times as text in UTC. SQLite reads their microseconds rounded to a millisecond and cuts its own
-- clock to one; 2 ms of grace keep a job that was enqueued just now from counting as scheduled right after its commit.
WITH

clock (epoch) AS MATERIALIZED (SELECT unixepoch('now', 'subsec')),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

horizon (lookahead) AS MATERIALIZED (SELECT DISTINCT lookahead FROM want),

job (queue, run_at, locked_at, failed) AS (
    SELECT
        coalesce(nullif(queue, ''), '(none)'),
        unixepoch(run_at, 'subsec'),
        unixepoch(locked_at, 'subsec'),
        failed_at IS NOT NULL
    FROM {schema}delayed_jobs
),

-- CROSS JOIN keeps the table on the outside: it is read once.
seen (queue, lookahead, run_at, since, state) AS (
    SELECT
        job.queue,
        horizon.lookahead,
        job.run_at,
        -- A job whose worker died is ready again when its lock has expired.
        max(job.run_at, coalesce(job.locked_at + @running_max_age, job.run_at)),
        CASE
            WHEN job.failed THEN 'failed'
            WHEN job.locked_at >= clock.epoch - @running_max_age THEN 'running'
            WHEN job.run_at > clock.epoch + horizon.lookahead + 0.002 THEN 'scheduled'
            WHEN job.run_at IS NOT NULL THEN 'ready'
        END
    FROM job CROSS JOIN clock CROSS JOIN horizon
    WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL) OR job.queue IN (SELECT queue FROM want WHERE queue IS NOT NULL)
),

counted AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        count(*) FILTER (WHERE state = 'ready') AS ready,
        count(*) FILTER (WHERE state = 'running') AS running,
        count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
        min(since) FILTER (WHERE state = 'ready') AS oldest,
        min(run_at) FILTER (WHERE state = 'scheduled') AS next_due
    FROM seen
    GROUP BY queue, lookahead
)

-- The engine holds the counts to @limit; there is nothing to stop early.
SELECT
    counted.queue,
    counted.lookahead,
    counted.ready,
    counted.running,
    counted.scheduled,
    max(0.0, clock.epoch - counted.oldest) AS oldest_seconds,
    max(0.0, counted.next_due - clock.epoch) AS next_due_seconds
FROM counted, clock
WHERE EXISTS (
    SELECT 1 FROM want
    WHERE want.lookahead = counted.lookahead AND coalesce(want.queue = counted.queue, true)
);
