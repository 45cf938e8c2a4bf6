-- Delayed Job has no index that knows queues, and so each read is one pass over the table, however many queues and
-- lookaheads are wanted: a pass for each of them would be many, and a look that stops early could miss what it is for.
-- The table holds what is waiting and running, and of what has ended only that which failed for good.
--
-- The lookaheads' ends cut time into spans, numbered from 0. The pass counts jobs by queue and span; what is due by the
-- end of the i-th is the sum of the spans before i. Jobs without a queue go by the name (none).
WITH wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text, lookahead float8)
),
horizons AS MATERIALIZED (
  SELECT h.lookahead, row_number() OVER (ORDER BY h.lookahead) AS i,
         -- A job that is due at this very moment is before the end.
         statement_timestamp() AT TIME ZONE 'utc' + h.lookahead * interval '1 second' + interval '1 microsecond' AS ends
  FROM (SELECT DISTINCT lookahead FROM wants) AS h
),
clock AS MATERIALIZED (
  SELECT statement_timestamp() AT TIME ZONE 'utc' AS now,
         @running_max_age::float8 * interval '1 second' AS lease,
         statement_timestamp() AT TIME ZONE 'utc' - @running_max_age::float8 * interval '1 second' AS expired,
         ARRAY(SELECT h.ends FROM horizons h ORDER BY h.ends) AS ends
),
pass AS MATERIALIZED (
  SELECT j.queue, width_bucket(j.run_at, clock.ends) AS span, -- NULL without a run_at: no worker takes the job
    count(*) FILTER (WHERE j.failed_at IS NULL AND (j.locked_at IS NULL OR j.locked_at < clock.expired)) AS waiting,
    count(*) FILTER (WHERE j.failed_at IS NULL AND j.locked_at >= clock.expired) AS running,
    min(j.run_at) FILTER (WHERE j.failed_at IS NULL AND (j.locked_at IS NULL OR j.locked_at < clock.expired)) AS first,
    min(j.run_at) FILTER (WHERE j.failed_at IS NULL AND j.locked_at IS NULL) AS fresh,
    -- A job whose worker died is ready again when its lock has expired.
    min(j.locked_at) FILTER (WHERE j.failed_at IS NULL AND j.locked_at < clock.expired) AS stale
  FROM clock CROSS JOIN {schema}delayed_jobs j
  GROUP BY j.queue, span
),
counts AS (
  SELECT coalesce(nullif(p.queue, ''), '(none)') AS queue, h.lookahead,
    coalesce(sum(p.waiting) FILTER (WHERE p.span < h.i), 0) AS ready,
    coalesce(sum(p.waiting) FILTER (WHERE p.span >= h.i), 0) AS scheduled,
    sum(p.running) AS running,
    least(min(p.fresh) FILTER (WHERE p.span < h.i), min(p.stale) FILTER (WHERE p.span < h.i) + clock.lease) AS oldest,
    min(p.first) FILTER (WHERE p.span >= h.i) AS next_due
  FROM clock, pass p CROSS JOIN horizons h
  GROUP BY coalesce(nullif(p.queue, ''), '(none)'), h.lookahead, clock.lease
)
SELECT DISTINCT c.queue, c.lookahead,
  least(c.ready, nullif(@limit::bigint, 0)) AS ready,
  least(c.scheduled, nullif(@limit::bigint, 0)) AS scheduled,
  least(c.running, nullif(@limit::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif(@limit::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN greatest(0, extract(epoch FROM clock.now) - extract(epoch FROM c.oldest))::float8 END AS oldest_seconds,
  -- Active Record stores a time that never comes as infinity, which is no number of seconds.
  CASE WHEN c.scheduled > 0 THEN least(1e9, extract(epoch FROM c.next_due) - extract(epoch FROM clock.now))::float8 END AS next_due_seconds
FROM clock, counts c
JOIN wants w ON w.lookahead = c.lookahead AND (w.queue IS NULL OR w.queue = c.queue)
