-- Laravel's database queue on SQLite: one row per wanted queue, from one walk of each over the index on queue. The index
-- knows no times, so there is nothing at which a walk could stop early; the engine holds the counts to @limit.
--
-- Times are whole epoch seconds, and so is the clock that they are compared with, as in Laravel.
WITH RECURSIVE

clock (epoch) AS MATERIALIZED (SELECT unixepoch('now', 'subsec')),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

-- The queues in turn, one index seek each; only if somebody wants every queue.
held (queue) AS (
    SELECT (SELECT min(queue) FROM {schema}jobs WHERE jobs.queue > '')
    WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
    UNION ALL
    SELECT (SELECT min(queue) FROM {schema}jobs WHERE jobs.queue > held.queue) FROM held WHERE held.queue IS NOT NULL
),

asked (queue, lookahead, due, expired) AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        CAST(epoch + lookahead AS integer),
        CAST(epoch - @running_max_age AS integer)
    FROM clock, (
        SELECT queue, lookahead FROM want WHERE queue IS NOT NULL
        UNION
        SELECT held.queue, want.lookahead FROM want, held WHERE want.queue IS NULL AND held.queue IS NOT NULL
    )
),

-- A job whose worker died is ready again once its reservation has expired.
job (queue, lookahead, state, at) AS (
    SELECT
        asked.queue,
        asked.lookahead,
        CASE
            WHEN job.reserved_at > asked.expired THEN 'running'
            WHEN job.reserved_at IS NULL AND job.available_at > asked.due THEN 'scheduled'
            ELSE 'ready'
        END,
        coalesce(job.reserved_at + @running_max_age, job.available_at)
    FROM asked CROSS JOIN {schema}jobs AS job
    WHERE job.queue = asked.queue
)

SELECT
    job.queue,
    job.lookahead,
    count(*) FILTER (WHERE state = 'ready') AS ready,
    count(*) FILTER (WHERE state = 'running') AS running,
    count(*) FILTER (WHERE state = 'scheduled') AS scheduled,
    max(0.0, clock.epoch - min(at) FILTER (WHERE state = 'ready')) AS oldest_seconds,
    max(0.0, min(at) FILTER (WHERE state = 'scheduled') - clock.epoch) AS next_due_seconds
FROM job CROSS JOIN clock
GROUP BY job.queue, job.lookahead;
