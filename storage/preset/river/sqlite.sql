-- River on SQLite: one row per wanted queue. One statement, so every count is of the same instant.
--
-- Each probe below names state, queue and priority, and so walks river_job_prioritized_fetching_index
-- (state, queue, priority, scheduled_at, id) without touching the table; counts stop at the limit.
--
-- River keeps times as text, 'YYYY-MM-DD HH:MM:SS.SSS' in UTC, and compares them as text when it fetches and
-- promotes. So does this: a time in another format is due here exactly when River takes it for due. River rounds
-- to the nearest millisecond and SQLite's clock rounds down, so a job enqueued just now can be stamped up to 1.5 ms
-- ahead of that clock; 2 ms of grace keep it from counting as scheduled right after its commit.
WITH RECURSIVE

clock (epoch) AS MATERIALIZED (SELECT unixepoch('now', 'subsec')),

want (queue, lookahead) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real) FROM json_each(@wants)
),

state (name) AS (
    VALUES ('available'), ('cancelled'), ('completed'), ('discarded'), ('pending'), ('retryable'), ('running'), ('scheduled')
),

-- Jobs that a worker could start once they are due. Nobody promotes retryable and scheduled ones while no worker runs.
lane (state, priority) AS MATERIALIZED (
    SELECT s.column1, p.column1
    FROM (VALUES ('available'), ('retryable'), ('scheduled')) AS s, (VALUES (1), (2), (3), (4)) AS p
),

-- The queues of each state in turn, one index seek each; only if somebody wants every queue.
held (state, queue) AS (
    SELECT name, (SELECT min(queue) FROM {schema}river_job WHERE river_job.state = name)
    FROM state
    WHERE EXISTS (SELECT 1 FROM want WHERE queue IS NULL)
    UNION ALL
    SELECT held.state, (
        SELECT min(queue) FROM {schema}river_job WHERE river_job.state = held.state AND river_job.queue > held.queue
    )
    FROM held
    WHERE held.queue IS NOT NULL
),

asked (queue, lookahead, due, alive) AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        datetime(epoch + lookahead + 0.002, 'unixepoch', 'subsec'),
        datetime(epoch - @running_max_age, 'unixepoch', 'subsec')
    FROM clock, (
        SELECT queue, lookahead FROM want WHERE queue IS NOT NULL
        UNION
        SELECT names.queue, want.lookahead
        FROM want, (
            SELECT queue FROM held WHERE queue IS NOT NULL
            UNION
            SELECT name FROM {schema}river_queue
        ) AS names
        WHERE want.queue IS NULL
    )
),

counted AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        due,
        EXISTS (SELECT 1 FROM {schema}river_queue WHERE name = asked.queue AND paused_at IS NOT NULL) AS paused,
        EXISTS (SELECT 1 FROM {schema}river_queue WHERE name = asked.queue)
            OR EXISTS (SELECT 1 FROM state, {schema}river_job AS job WHERE job.state = state.name AND job.queue = asked.queue)
            AS known,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}river_job AS job
                WHERE job.state IN ('available', 'retryable', 'scheduled') AND job.queue = asked.queue
                    AND job.priority IN (1, 2, 3, 4) AND job.scheduled_at <= asked.due
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS ready,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}river_job AS job
                WHERE job.state = 'running' AND job.queue = asked.queue AND job.attempted_at >= asked.alive
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS running,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}river_job AS job
                WHERE job.state IN ('available', 'retryable', 'scheduled') AND job.queue = asked.queue
                    AND job.priority IN (1, 2, 3, 4) AND job.scheduled_at > asked.due
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS scheduled
    FROM asked
),

-- The first job of each lane, asked only where the counts say that there is one: an empty queue costs little.
timed AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN ready > 0 AND NOT paused THEN (
            SELECT min(first) FROM (
                SELECT (
                    SELECT min(job.scheduled_at) FROM {schema}river_job AS job
                    WHERE job.state = lane.state AND job.queue = counted.queue AND job.priority = lane.priority
                        AND job.scheduled_at <= counted.due
                ) AS first FROM lane
            )
        ) END AS oldest,
        CASE WHEN scheduled > 0 THEN (
            SELECT min(first) FROM (
                SELECT (
                    SELECT min(job.scheduled_at) FROM {schema}river_job AS job
                    WHERE job.state = lane.state AND job.queue = counted.queue AND job.priority = lane.priority
                        AND job.scheduled_at > counted.due
                ) AS first FROM lane
            )
        ) END AS next_due
    FROM counted
)

-- The counts may be one above the limit, which tells the engine that they were cut off. A time that SQLite's
-- functions cannot read (Go's own text form) is read by its first 19 characters.
SELECT
    queue,
    lookahead,
    known,
    paused,
    CASE WHEN paused THEN 0 ELSE ready END AS ready,
    running,
    scheduled,
    max(0.0, epoch - coalesce(unixepoch(oldest, 'subsec'), unixepoch(substr(oldest, 1, 19)))) AS oldest_seconds,
    max(0.0, coalesce(unixepoch(next_due, 'subsec'), unixepoch(substr(next_due, 1, 19))) - epoch) AS next_due_seconds
FROM timed, clock;
