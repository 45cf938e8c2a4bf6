-- Delayed Job has no index that knows queues, and so each read is one pass over the table, however many queues and
-- lookaheads are wanted: a pass for each of them would be many, and a look that stops early could miss what it is for.
-- The table holds what is waiting and running, and of what has ended only that which failed for good.
--
-- Times are timestamps in UTC without zone, or with one where the application says so to Active Record: the epoch of
-- either is the same number, whatever the database's time zone. Jobs without a queue go by the name (none).
WITH wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
clock AS MATERIALIZED (
  SELECT extract(epoch FROM statement_timestamp())::float8 AS now
),
horizons AS MATERIALIZED (
  SELECT DISTINCT lookahead FROM wants
),
counts AS (
  SELECT seen.queue, seen.lookahead,
    count(*) FILTER (WHERE seen.state = 'ready') AS ready,
    count(*) FILTER (WHERE seen.state = 'scheduled') AS scheduled,
    count(*) FILTER (WHERE seen.state = 'running') AS running,
    min(seen.since) FILTER (WHERE seen.state = 'ready') AS oldest,
    min(seen.run_at) FILTER (WHERE seen.state = 'scheduled') AS next_due
  FROM clock, delayed_jobs j
  -- Behind OFFSET 0 the planner cannot make the table the inner side, to be read once for each lookahead.
  CROSS JOIN LATERAL (
    SELECT h.lookahead,
      coalesce(nullif(j.queue, ''), '(none)') AS queue,
      at.run_at,
      -- A job whose worker died is ready again when its lock has expired.
      greatest(at.run_at, at.locked_at + $2::float8) AS since,
      CASE
        WHEN j.failed_at IS NOT NULL THEN 'failed'
        WHEN at.locked_at >= clock.now - $2::float8 THEN 'running'
        WHEN at.run_at > clock.now + h.lookahead THEN 'scheduled'
        WHEN at.run_at IS NOT NULL THEN 'ready'
      END AS state
    FROM horizons h, (SELECT extract(epoch FROM j.run_at)::float8 AS run_at,
                             extract(epoch FROM j.locked_at)::float8 AS locked_at) AS at
    OFFSET 0
  ) AS seen
  WHERE seen.queue IN (SELECT w.queue FROM wants w) OR EXISTS (SELECT FROM wants w WHERE w.queue IS NULL)
  GROUP BY seen.queue, seen.lookahead
)
SELECT DISTINCT c.queue, c.lookahead,
  least(c.ready, nullif($3::bigint, 0)) AS ready,
  least(c.scheduled, nullif($3::bigint, 0)) AS scheduled,
  least(c.running, nullif($3::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($3::bigint, 0) AS saturated,
  -- Active Record stores a time that never comes as infinity, which is no number of seconds.
  CASE WHEN c.ready > 0 THEN least(1e9, greatest(0, clock.now - c.oldest)) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN least(1e9, c.next_due - clock.now) END AS next_due_seconds
FROM clock, counts c
JOIN wants w ON w.lookahead = c.lookahead AND (w.queue IS NULL OR w.queue = c.queue)
