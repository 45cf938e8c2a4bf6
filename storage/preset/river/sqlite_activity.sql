-- What sqlite.sql says of ready and running jobs, and where there are none of the next one due, for named queues and
-- nothing else: this is read between a job and the wake that it causes, and a smaller statement that looks no further
-- than it must is compiled and done sooner.
WITH

asked (queue, lookahead, epoch) AS MATERIALIZED (
    SELECT value ->> 'queue', CAST(coalesce(value ->> 'lookahead', 0) AS real), unixepoch('now', 'subsec') FROM json_each(@wants)
),

timed (queue, lookahead, epoch, due, alive) AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        epoch,
        datetime(epoch + lookahead + 0.002, 'unixepoch', 'subsec'),
        datetime(epoch - @running_max_age, 'unixepoch', 'subsec')
    FROM asked
),

counted AS MATERIALIZED (
    SELECT
        queue,
        lookahead,
        epoch,
        due,
        CASE WHEN NOT EXISTS (SELECT 1 FROM {schema}river_queue WHERE name = timed.queue AND paused_at IS NOT NULL) THEN (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}river_job AS job
                WHERE job.state IN ('available', 'retryable', 'scheduled') AND job.queue = timed.queue
                    AND job.priority IN (1, 2, 3, 4) AND job.scheduled_at <= timed.due
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) ELSE 0 END AS ready,
        (
            SELECT count(*) FROM (
                SELECT 1 FROM {schema}river_job AS job
                WHERE job.state = 'running' AND job.queue = timed.queue AND job.attempted_at >= timed.alive
                LIMIT CASE WHEN @limit > 0 THEN @limit + 1 ELSE -1 END
            )
        ) AS running
    FROM timed
),

waited AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN ready = 0 AND running = 0 THEN (
            SELECT min(first) FROM (
                SELECT (
                    SELECT min(job.scheduled_at) FROM {schema}river_job AS job
                    WHERE job.state = s.column1 AND job.queue = counted.queue AND job.priority = p.column1
                        AND job.scheduled_at > counted.due
                ) AS first
                FROM (VALUES ('available'), ('retryable'), ('scheduled')) AS s, (VALUES (1), (2), (3), (4)) AS p
            )
        ) END AS next_due
    FROM counted
)

SELECT
    queue,
    lookahead,
    ready,
    running,
    max(0.0, coalesce(unixepoch(next_due, 'subsec'), unixepoch(substr(next_due, 1, 19))) - epoch) AS next_due_seconds
FROM waited;
