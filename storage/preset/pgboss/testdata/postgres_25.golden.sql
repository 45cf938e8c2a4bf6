-- Each look is a probe of an index of pg-boss, and each count is bounded. Jobs that were due while nobody served the
-- queue need no promotion: pg-boss compares their time when it fetches.
--
-- An active job counts as running until it expires, by which time a living instance of pg-boss makes it fail.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
targets AS (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.name, w.lookahead FROM wants w CROSS JOIN "pgboss".queue n WHERE w.queue IS NULL AND n.name IS NOT NULL
),
live AS MATERIALIZED (
  SELECT t.queue, t.lookahead,
         statement_timestamp() AS now,
         statement_timestamp() + t.lookahead * interval '1 second' AS horizon,
         EXISTS (SELECT FROM "pgboss".queue q WHERE q.name = t.queue) AS known
  FROM targets t
),
counts AS (
  SELECT l.*, ready.n AS ready, scheduled.n AS scheduled, running.n AS running
  FROM live l
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM (
      (SELECT FROM "pgboss".job j
       WHERE l.known AND j.name = l.queue AND j.state < 'active' AND j.start_after <= l.horizon
       ORDER BY j.start_after LIMIT nullif($2::bigint, 0) + 1)
    ) AS looks LIMIT nullif($2::bigint, 0) + 1) AS bounded
  ) AS ready
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT FROM (
      (SELECT FROM "pgboss".job j
       WHERE l.known AND j.name = l.queue AND j.state < 'active' AND j.start_after > l.horizon
       ORDER BY j.start_after LIMIT nullif($2::bigint, 0) + 1)
    ) AS looks LIMIT nullif($2::bigint, 0) + 1) AS bounded
  ) AS scheduled
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM "pgboss".job j
      WHERE l.known AND j.name = l.queue AND j.state = 'active'
        AND j.started_on > l.now - least($3::float8 * interval '1 second', j.expire_seconds * interval '1 second')
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS running
)
SELECT c.queue, c.lookahead, c.known,
  least(c.ready, nullif($2::bigint, 0)) AS ready,
  least(c.scheduled, nullif($2::bigint, 0)) AS scheduled,
  least(c.running, nullif($2::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($2::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN (
    SELECT greatest(0, extract(epoch FROM c.now - min(first.due)))::float8 FROM (
      (SELECT j.start_after AS due FROM "pgboss".job j
       WHERE j.name = c.queue AND j.state < 'active' AND j.start_after <= c.horizon
       ORDER BY j.start_after LIMIT 1)
    ) AS first
  ) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN (
    SELECT extract(epoch FROM min(next.due) - c.now)::float8 FROM (
      (SELECT j.start_after AS due FROM "pgboss".job j
       WHERE j.name = c.queue AND j.state < 'active' AND j.start_after > c.horizon
       ORDER BY j.start_after LIMIT 1)
    ) AS next
  ) END AS next_due_seconds
FROM counts c
