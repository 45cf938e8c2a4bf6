-- Delayed Job on SQLite: one row per wanted queue, from one pass over the table, which has no index that knows queues.
--
-- Active Record stores times as text in UTC and compares them as text, and so does this. It writes microseconds, and
-- SQLite cuts its clock to a millisecond; 2 ms of grace keep a job that was enqueued just now from counting as scheduled
-- right after its commit. Jobs without a queue go by the name (none).
WITH

clock (epoch, expired) AS MATERIALIZED (
    SELECT unixepoch('now', 'subsec'), strftime('%F %R:%f', unixepoch('now', 'subsec') - @running_max_age, 'unixepoch')
),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

horizon (lookahead, due) AS MATERIALIZED (
    SELECT DISTINCT want.lookahead, strftime('%F %R:%f', clock.epoch + want.lookahead + 0.002, 'unixepoch') FROM want, clock
),

-- CROSS JOIN keeps the table on the outside: it is read once.
seen (queue, lookahead, run_at, locked_at, state) AS (
    SELECT
        coalesce(nullif(job.queue, ''), '(none)'),
        horizon.lookahead,
        job.run_at,
        job.locked_at,
        CASE
            WHEN job.failed_at IS NOT NULL THEN 'failed'
            WHEN job.locked_at >= clock.expired THEN 'running'
            WHEN job.run_at > horizon.due THEN 'scheduled'
            WHEN job.run_at IS NOT NULL THEN 'ready'
        END
    FROM {schema}delayed_jobs AS job CROSS JOIN clock CROSS JOIN horizon
),

counted AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        count(*) FILTER (WHERE state = 'ready') AS ready,
        count(*) FILTER (WHERE state = 'running') AS running,
        count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
        min(run_at) FILTER (WHERE state = 'ready' AND locked_at IS NULL) AS fresh,
        -- A job whose worker died is ready again when its lock has expired.
        min(locked_at) FILTER (WHERE state = 'ready') AS stale,
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
    CASE WHEN counted.ready > 0 THEN max(
        0.0,
        coalesce(clock.epoch - unixepoch(counted.fresh, 'subsec'), 0.0),
        coalesce(clock.epoch - @running_max_age - unixepoch(counted.stale, 'subsec'), 0.0)
    ) END AS oldest_seconds,
    max(0.0, unixepoch(counted.next_due, 'subsec') - clock.epoch) AS next_due_seconds
FROM counted, clock
WHERE EXISTS (
    SELECT 1 FROM want
    WHERE want.lookahead = counted.lookahead AND coalesce(want.queue = counted.queue, true)
);
