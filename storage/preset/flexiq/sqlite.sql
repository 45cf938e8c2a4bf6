-- FlexiQ on SQLite: one row per wanted queue. A queue of the default namespace goes by its name, one of another by
-- namespace/queue. So a wanted name with a slash may mean two queues, the lanes of the name: each is counted by itself,
-- and the sum is the name's.
--
-- Looks walk FlexiQ's index (queue, status, priority DESC, scheduled_at) and counts stop at the limit.
-- Status 0 is pending, 1 running, 2 complete. Times are epoch milliseconds.
WITH RECURSIVE

clock (now) AS MATERIALIZED (SELECT CAST(round(unixepoch('now', 'subsec') * 1000) AS integer)),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

-- Queues and namespaces in turn, one index seek each; only if somebody wants every queue. The last of each is NULL.
held (queue) AS (
    SELECT (SELECT min(queue) FROM {schema}jobs) WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
    UNION ALL
    SELECT (SELECT min(queue) FROM {schema}jobs WHERE jobs.queue > held.queue) FROM held WHERE held.queue IS NOT NULL
),

space (namespace) AS (
    SELECT (SELECT min(namespace) FROM {schema}jobs) WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
    UNION ALL
    SELECT (SELECT min(namespace) FROM {schema}jobs WHERE jobs.namespace > space.namespace)
    FROM space WHERE space.namespace IS NOT NULL
),

found (name) AS (
    SELECT coalesce(space.namespace || '/', '') || held.queue
    FROM held, space
    WHERE held.queue <> ''
        AND EXISTS (SELECT 1 FROM {schema}jobs WHERE jobs.queue = held.queue AND jobs.namespace IS space.namespace)
    UNION
    SELECT coalesce(namespace || '/', '') || queue_name
    FROM {schema}queue_state
    WHERE queue_name <> '' AND EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
),

asked (name, lookahead) AS MATERIALIZED (
    SELECT queue, lookahead FROM want WHERE queue IS NOT NULL
    UNION
    SELECT found.name, want.lookahead FROM want, found WHERE want.queue IS NULL
),

part (name, lookahead, namespace, queue) AS (
    SELECT name, lookahead, NULL, name FROM asked
    UNION ALL
    SELECT name, lookahead, substr(name, 1, instr(name, '/') - 1), substr(name, instr(name, '/') + 1)
    FROM asked WHERE instr(name, '/') > 0
),

lane AS MATERIALIZED (
    SELECT
        part.*,
        clock.now,
        clock.now + CAST(part.lookahead * 1000 AS integer) AS due,
        clock.now - 30000 AS dead, -- workers that have not beaten since
        state.queue_name IS NOT NULL AS registered,
        coalesce(state.paused, 0) AS paused
    FROM clock CROSS JOIN part
    LEFT JOIN {schema}queue_state AS state ON state.queue_name = part.queue AND state.namespace IS part.namespace
),

counted AS MATERIALIZED (
    SELECT
        *,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}jobs AS job
                WHERE NOT lane.paused
                    AND job.queue = lane.queue AND job.status = 0 AND job.scheduled_at <= lane.due
                    AND job.namespace IS lane.namespace
                    AND (job.expires_at IS NULL OR job.expires_at >= lane.now)
                    AND NOT (job.has_deps AND EXISTS (
                        SELECT 1 FROM {schema}job_dependencies AS needed
                        LEFT JOIN {schema}jobs AS live ON live.id = needed.depends_on_job_id
                        LEFT JOIN {schema}archived_jobs AS done ON done.id = needed.depends_on_job_id
                        WHERE needed.job_id = job.id AND (live.status <> 2 OR done.status <> 2)
                    ))
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS ready,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}jobs AS job
                WHERE job.queue = lane.queue AND job.status = 1 AND job.namespace IS lane.namespace
                    AND job.started_at > lane.now - @running_max_age * 1000
                    -- A claim of a worker that has stopped beating is what only a live worker puts right.
                    AND NOT EXISTS (
                        SELECT 1 FROM {schema}execution_claims AS claim
                        LEFT JOIN {schema}workers AS worker
                            ON worker.worker_id = claim.worker_id AND worker.last_heartbeat >= lane.dead
                        WHERE claim.job_id = job.id AND worker.worker_id IS NULL
                    )
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS running,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}jobs AS job
                WHERE job.queue = lane.queue AND job.status = 0 AND job.scheduled_at > lane.due
                    AND job.namespace IS lane.namespace
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS scheduled
    FROM lane
),

-- The first of each, asked only where the counts say that there is one.
timed AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN ready > 0 THEN (
            SELECT min(job.scheduled_at) FROM {schema}jobs AS job
            WHERE job.queue = counted.queue AND job.status = 0 AND job.scheduled_at <= counted.due
                AND job.namespace IS counted.namespace
                AND (job.expires_at IS NULL OR job.expires_at >= counted.now)
                AND NOT (job.has_deps AND EXISTS (
                    SELECT 1 FROM {schema}job_dependencies AS needed
                    LEFT JOIN {schema}jobs AS live ON live.id = needed.depends_on_job_id
                    LEFT JOIN {schema}archived_jobs AS done ON done.id = needed.depends_on_job_id
                    WHERE needed.job_id = job.id AND (live.status <> 2 OR done.status <> 2)
                ))
        ) END AS oldest,
        CASE WHEN scheduled > 0 THEN (
            SELECT min(job.scheduled_at) FROM {schema}jobs AS job
            WHERE job.queue = counted.queue AND job.status = 0 AND job.scheduled_at > counted.due
                AND job.namespace IS counted.namespace
        ) END AS next_due,
        registered
            OR EXISTS (SELECT 1 FROM {schema}jobs AS job
                       WHERE job.queue = counted.queue AND job.namespace IS counted.namespace)
            OR EXISTS (SELECT 1 FROM {schema}archived_jobs AS job
                       WHERE job.queue = counted.queue AND job.namespace IS counted.namespace) AS known,
        (
            SELECT json_array(count(*), coalesce(sum(worker.threads), 0)) FROM {schema}workers AS worker
            WHERE worker.last_heartbeat >= counted.dead AND worker.namespace IS counted.namespace
                AND instr(',' || worker.queues || ',', ',' || counted.queue || ',') > 0
        ) AS pool
    FROM counted
)

SELECT
    name AS queue,
    lookahead,
    max(known) AS known,
    max(paused) AND sum(ready) = 0 AS paused,
    sum(ready) AS ready,
    sum(running) AS running,
    sum(scheduled) AS scheduled,
    max(now - oldest) / 1000.0 AS oldest_seconds,
    min(next_due - now) / 1000.0 AS next_due_seconds,
    sum(pool ->> 0) AS workers,
    sum(pool ->> 1) AS capacity
FROM timed
GROUP BY name, lookahead;
