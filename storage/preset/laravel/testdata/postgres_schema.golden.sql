-- Laravel's table has an index on queue and none that knows times, so a look at a queue walks the queue's rows. Ready jobs
-- are counted by a walk that stops at the limit. The rest is told by a second one, which sees the whole queue unless the
-- first found more than the limit: then what is left to know are lower bounds, and a part will do. A queue whose ready
-- jobs are few is never answered from a part, which could hide a job.
--
-- Times are whole epoch seconds, and so is the clock that they are compared with, as in Laravel.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
clock AS MATERIALIZED (
  SELECT extract(epoch FROM statement_timestamp())::float8 AS now
),
-- The queues by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT (SELECT j.queue FROM "My ""Jobs""".jobs j WHERE j.queue > '' ORDER BY j.queue LIMIT 1)::text AS queue
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT (SELECT j.queue FROM "My ""Jobs""".jobs j WHERE j.queue > h.queue ORDER BY j.queue LIMIT 1)::text
  FROM hops h
  WHERE h.queue IS NOT NULL
),
targets AS (
  SELECT t.queue, t.lookahead, clock.now,
         floor(clock.now + t.lookahead)::bigint AS horizon,
         floor(clock.now - $2::float8)::bigint AS expired
  FROM clock, (
    SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
    UNION
    SELECT h.queue, w.lookahead FROM wants w CROSS JOIN hops h WHERE w.queue IS NULL AND h.queue IS NOT NULL
  ) AS t
)
SELECT t.queue, t.lookahead,
  rest.seen > 0 AS known,
  least(ready.n, nullif($3::bigint, 0)) AS ready,
  least(rest.scheduled, nullif($3::bigint, 0)) AS scheduled,
  least(rest.running, nullif($3::bigint, 0)) AS running,
  greatest(ready.n, rest.scheduled, rest.running) > nullif($3::bigint, 0) AS saturated,
  CASE WHEN ready.n > 0 THEN greatest(0, t.now - rest.oldest) END AS oldest_seconds,
  CASE WHEN rest.scheduled > 0 THEN greatest(0, rest.next_due - t.now) END AS next_due_seconds
FROM targets t
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM "My ""Jobs""".jobs j
    WHERE j.queue = t.queue
      AND (j.reserved_at IS NULL AND j.available_at <= t.horizon OR j.reserved_at <= t.expired)
    LIMIT nullif($3::bigint, 0) + 1
  ) AS bounded
) AS ready
CROSS JOIN LATERAL (
  SELECT count(*) AS seen,
    count(*) FILTER (WHERE j.reserved_at > t.expired) AS running,
    count(*) FILTER (WHERE j.reserved_at IS NULL AND j.available_at > t.horizon) AS scheduled,
    min(j.available_at) FILTER (WHERE j.reserved_at IS NULL AND j.available_at > t.horizon) AS next_due,
    least(min(j.available_at) FILTER (WHERE j.reserved_at IS NULL AND j.available_at <= t.horizon),
          -- A job whose worker died is ready again once its reservation has expired.
          min(j.reserved_at) FILTER (WHERE j.reserved_at <= t.expired) + $2::float8) AS oldest
  FROM (
    SELECT row.reserved_at, row.available_at FROM "My ""Jobs""".jobs row
    WHERE row.queue = t.queue
    LIMIT CASE WHEN ready.n > nullif($3::bigint, 0) THEN 2 * ready.n END
  ) AS j
) AS rest
