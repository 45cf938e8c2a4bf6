-- What postgres.sql says of ready and running jobs, and where there are none of the next one due, for named queues and
-- nothing else: this is read between a job and the wake that it causes, and a smaller statement that looks no further
-- than it must is done sooner.
WITH wants AS (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead, statement_timestamp() AS now,
         statement_timestamp() + coalesce(w.lookahead, 0) * interval '1 second' AS horizon
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
)
SELECT w.queue, w.lookahead, ready.n AS ready, running.n AS running,
  greatest(ready.n, running.n) >= nullif($2::bigint, 0) AS saturated,
  CASE WHEN ready.n = 0 AND running.n = 0 THEN (
    SELECT extract(epoch FROM min(next.scheduled_at) - w.now)::float8
    FROM unnest(ARRAY['available', 'scheduled', 'retryable']::river_job_state[]) AS s(state),
      generate_series(1, 4) AS p(priority), LATERAL (
        SELECT j.scheduled_at FROM river_job j
        WHERE j.state = s.state AND j.queue = w.queue AND j.priority = p.priority AND j.scheduled_at > w.horizon
        ORDER BY j.scheduled_at LIMIT 1
      ) AS next
  ) END AS next_due_seconds
FROM wants w
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM unnest(ARRAY['available', 'scheduled', 'retryable']::river_job_state[]) AS s(state),
      generate_series(1, 4) AS p(priority), LATERAL (
        SELECT FROM river_job j
        WHERE j.state = s.state AND j.queue = w.queue AND j.priority = p.priority AND j.scheduled_at <= w.horizon
        ORDER BY j.scheduled_at LIMIT nullif($2::bigint, 0)
      ) AS due
    WHERE NOT EXISTS (SELECT FROM river_queue q WHERE q.name = w.queue AND q.paused_at IS NOT NULL)
    LIMIT nullif($2::bigint, 0)
  ) AS bounded
) AS ready
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM river_job j
    WHERE j.state = 'running' AND j.queue = w.queue
      AND j.attempted_at > w.now - $3::float8 * interval '1 second'
    LIMIT nullif($2::bigint, 0)
  ) AS bounded
) AS running
