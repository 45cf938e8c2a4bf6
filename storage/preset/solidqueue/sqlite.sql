-- Solid Queue on SQLite: one row per wanted queue. One statement, so every count is of the same instant. postgres.sql
-- tells what is read, and why so.
--
-- Active Record stores times as text in UTC with microseconds and compares them as text, and so does this. SQLite cuts
-- its clock to a millisecond; 2 ms of grace keep a job that is due just now from counting as scheduled.
WITH RECURSIVE

clock (epoch, alive) AS MATERIALIZED (
    SELECT unixepoch('now', 'subsec'), strftime('%F %R:%f', unixepoch('now', 'subsec') - 300, 'unixepoch')
),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

horizon (lookahead, due) AS MATERIALIZED (
    SELECT DISTINCT want.lookahead, strftime('%F %R:%f', clock.epoch + want.lookahead + 0.002, 'unixepoch') FROM want, clock
),

-- The queues of all jobs in turn, one index seek each; only if somebody wants every queue.
held (queue) AS (
    SELECT (SELECT min(queue_name) FROM {schema}solid_queue_jobs)
    WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
    UNION ALL
    SELECT (SELECT min(queue_name) FROM {schema}solid_queue_jobs WHERE queue_name > held.queue)
    FROM held
    WHERE held.queue IS NOT NULL
),

asked (queue, lookahead) AS MATERIALIZED (
    SELECT queue, lookahead FROM want WHERE queue IS NOT NULL
    UNION
    SELECT names.queue, want.lookahead
    FROM want, (
        SELECT queue FROM held WHERE queue IS NOT NULL
        UNION
        SELECT queue_name FROM {schema}solid_queue_pauses
    ) AS names
    WHERE want.queue IS NULL
),

-- At least 100,000 of the scheduled executions, whatever the limit of one queue.
waiting (queue, scheduled_at) AS MATERIALIZED (
    SELECT queue_name, scheduled_at
    FROM {schema}solid_queue_scheduled_executions
    ORDER BY scheduled_at, priority, job_id
    LIMIT CASE WHEN @limit > 0 THEN max(@limit, 100000) + 1 ELSE -1 END
),

scheduled AS MATERIALIZED (
    SELECT
        waiting.queue,
        horizon.lookahead,
        count(*) FILTER (WHERE waiting.scheduled_at <= horizon.due) AS due,
        count(*) FILTER (WHERE waiting.scheduled_at > horizon.due) AS later,
        min(waiting.scheduled_at) FILTER (WHERE waiting.scheduled_at <= horizon.due) AS first_due,
        min(waiting.scheduled_at) FILTER (WHERE waiting.scheduled_at > horizon.due) AS next_due
    FROM waiting, horizon
    GROUP BY waiting.queue, horizon.lookahead
),

alive (id, kind, metadata) AS MATERIALIZED (
    SELECT process.id, process.kind, CASE WHEN json_valid(process.metadata) THEN process.metadata ELSE '{}' END
    FROM {schema}solid_queue_processes AS process, clock
    WHERE process.last_heartbeat_at > clock.alive
),

-- CROSS JOIN keeps the order of the look-ups: a process, its claims, their jobs.
running (queue, n) AS MATERIALIZED (
    SELECT job.queue_name, count(*)
    FROM alive
    CROSS JOIN {schema}solid_queue_claimed_executions AS claim ON claim.process_id = alive.id
    CROSS JOIN {schema}solid_queue_jobs AS job ON job.id = claim.job_id
    GROUP BY job.queue_name
),

-- The names that a worker serves, from a text with commas between them.
worker (id, threads, pattern) AS MATERIALIZED (
    SELECT alive.id, coalesce(CAST(alive.metadata ->> 'thread_pool_size' AS integer), 0), trim(name.value)
    FROM alive, json_each('[' || replace(
        json_quote(coalesce(nullif(trim(alive.metadata ->> 'queues'), ''), '*')), ',', '","') || ']') AS name
    WHERE alive.kind = 'Worker'
),

counted AS MATERIALIZED (
    SELECT
        asked.queue,
        asked.lookahead,
        EXISTS (SELECT 1 FROM {schema}solid_queue_pauses WHERE queue_name = asked.queue) AS paused,
        EXISTS (SELECT 1 FROM {schema}solid_queue_jobs WHERE queue_name = asked.queue) AS known,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}solid_queue_ready_executions AS ready
                WHERE ready.queue_name = asked.queue
                ORDER BY ready.priority, ready.job_id
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS ready,
        coalesce(scheduled.due, 0) AS due,
        coalesce(scheduled.later, 0) AS later,
        scheduled.first_due,
        scheduled.next_due,
        coalesce((SELECT n FROM running WHERE running.queue = asked.queue), 0) AS running
    FROM asked
    LEFT JOIN scheduled ON scheduled.queue = asked.queue AND scheduled.lookahead = asked.lookahead
),

-- The priorities of each queue with ready jobs, hopping from one to the next.
head (queue, priority) AS (
    SELECT busy.queue, (SELECT min(priority) FROM {schema}solid_queue_ready_executions WHERE queue_name = busy.queue)
    FROM (SELECT DISTINCT queue FROM counted WHERE ready > 0 AND NOT paused) AS busy
    UNION ALL
    SELECT head.queue, (
        SELECT min(priority) FROM {schema}solid_queue_ready_executions
        WHERE queue_name = head.queue AND priority > head.priority
    )
    FROM head
    WHERE head.priority IS NOT NULL
),

oldest (queue, created_at) AS MATERIALIZED (
    SELECT queue, min(first) FROM (
        SELECT head.queue, (
            SELECT min(created_at) FROM (
                SELECT ready.created_at FROM {schema}solid_queue_ready_executions AS ready
                WHERE ready.queue_name = head.queue AND ready.priority = head.priority
                ORDER BY ready.job_id LIMIT 1000
            )
        ) AS first
        FROM head
        WHERE head.priority IS NOT NULL
    )
    GROUP BY queue
)

-- The counts may be above the limit, which tells the engine that there are more.
SELECT
    counted.queue,
    counted.lookahead,
    counted.paused,
    counted.paused OR counted.known AS known,
    CASE WHEN counted.paused THEN 0 ELSE counted.ready + counted.due END AS ready,
    counted.later AS scheduled,
    counted.running,
    @limit > 0 AND (SELECT count(*) FROM waiting) > max(@limit, 100000) AS saturated,
    CASE WHEN NOT counted.paused THEN max(
        0.0,
        coalesce(clock.epoch - unixepoch(oldest.created_at, 'subsec'), 0.0),
        coalesce(clock.epoch - unixepoch(counted.first_due, 'subsec'), 0.0)
    ) END AS oldest_seconds,
    max(0.0, unixepoch(counted.next_due, 'subsec') - clock.epoch) AS next_due_seconds,
    (
        SELECT count(DISTINCT worker.id) FROM worker
        WHERE worker.pattern IN ('*', counted.queue)
            OR (worker.pattern LIKE '%*' AND counted.queue LIKE replace(worker.pattern, '*', '%'))
    ) AS workers,
    (
        SELECT coalesce(sum(serving.threads), 0) FROM (
            SELECT DISTINCT worker.id, worker.threads FROM worker
            WHERE worker.pattern IN ('*', counted.queue)
                OR (worker.pattern LIKE '%*' AND counted.queue LIKE replace(worker.pattern, '*', '%'))
        ) AS serving
    ) AS capacity
FROM counted
CROSS JOIN clock
LEFT JOIN oldest ON oldest.queue = counted.queue;
