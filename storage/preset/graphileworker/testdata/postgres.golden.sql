-- One pass over the view, whatever is wanted: Graphile Worker has no index by task, and none that finds the jobs that
-- run. The view shows all jobs to whom it is granted, while row-level security hides those of the table itself.
--
-- A job is claimed while locked_at is set, and given up once attempts has come to max_attempts. Jobs of one named queue
-- run one at a time: however many of them wait, one worker can do something for them, and none while one runs.
WITH wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
looks AS MATERIALIZED (
  SELECT DISTINCT w.lookahead,
         statement_timestamp() AS now,
         statement_timestamp() + w.lookahead * interval '1 second' AS horizon,
         statement_timestamp() - $2::float8 * interval '1 second' AS alive
  FROM wants w
),
-- The groups are hashed, and a million jobs not sorted, if the planner sees that they are few: hence the grouping within
-- each look. All ids are positive; that lets it choose a scan by index where the engine has turned sequential ones off,
-- whose costs it could not tell apart.
lanes AS MATERIALIZED (
  SELECT l.lookahead, g.*
  FROM looks l
  CROSS JOIN LATERAL (
    SELECT j.task_identifier AS task, j.queue_name AS serial,
           count(*) FILTER (WHERE j.locked_at > l.alive) AS running,
           count(*) FILTER (WHERE j.locked_at IS NULL AND j.attempts < j.max_attempts AND j.run_at <= l.horizon) AS due,
           min(j.run_at) FILTER (WHERE j.locked_at IS NULL AND j.attempts < j.max_attempts AND j.run_at <= l.horizon) AS first,
           count(*) FILTER (WHERE j.locked_at IS NULL AND j.attempts < j.max_attempts AND j.run_at > l.horizon) AS later,
           min(j.run_at) FILTER (WHERE j.locked_at IS NULL AND j.attempts < j.max_attempts AND j.run_at > l.horizon) AS next
    FROM "graphile_worker".jobs j
    WHERE j.id >= 0
    GROUP BY j.task_identifier, j.queue_name
  ) AS g
),
busy AS MATERIALIZED (
  SELECT DISTINCT n.serial FROM lanes n WHERE n.serial IS NOT NULL AND n.running > 0
),
tasks AS MATERIALIZED (
  SELECT n.lookahead, n.task,
         sum(CASE WHEN n.due = 0 OR b.serial IS NOT NULL THEN 0 WHEN n.serial IS NULL THEN n.due ELSE 1 END)::bigint AS ready,
         min(n.first) FILTER (WHERE b.serial IS NULL) AS first,
         sum(n.later)::bigint AS scheduled,
         min(n.next) AS next,
         sum(n.running)::bigint AS running
  FROM lanes n
  LEFT JOIN busy b ON b.serial = n.serial
  GROUP BY n.lookahead, n.task
),
targets AS (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT t.task, w.lookahead FROM wants w JOIN tasks t ON t.lookahead = w.lookahead WHERE w.queue IS NULL
)
SELECT g.queue, g.lookahead,
  t.task IS NOT NULL AS known,
  least(coalesce(t.ready, 0), nullif($3::bigint, 0)) AS ready,
  least(coalesce(t.running, 0), nullif($3::bigint, 0)) AS running,
  least(coalesce(t.scheduled, 0), nullif($3::bigint, 0)) AS scheduled,
  greatest(t.ready, t.running, t.scheduled) > nullif($3::bigint, 0) AS saturated,
  greatest(0, extract(epoch FROM l.now - t.first))::float8 AS oldest_seconds,
  extract(epoch FROM t.next - l.now)::float8 AS next_due_seconds
FROM targets g
JOIN looks l ON l.lookahead = g.lookahead
LEFT JOIN tasks t ON t.lookahead = g.lookahead AND t.task = g.queue
