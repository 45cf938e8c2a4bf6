-- Each look is a probe of River's index (state, queue, priority, scheduled_at, id), and each count is bounded.
-- Priority stands before the time in it, so "due by now" and "due first" are asked once for each priority, 1 to 4.
-- The LIMIT and ORDER BY within each look keep it a probe whatever the planner thinks of the table.
--
-- Ready includes scheduled and retryable jobs that are due: it is River's workers that promote them, and at zero
-- replicas there is none. The clock is the statement's: a job that is visible was not written after it.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
-- The distinct queues of each state, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT s.state, (SELECT j.queue FROM "My ""Jobs""".river_job j
                   WHERE j.state = s.state ORDER BY j.queue LIMIT 1) AS queue
  FROM unnest(enum_range(NULL::"My ""Jobs""".river_job_state)) AS s(state)
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT h.state, (SELECT j.queue FROM "My ""Jobs""".river_job j
                   WHERE j.state = h.state AND j.queue > h.queue ORDER BY j.queue LIMIT 1)
  FROM hops h
  WHERE h.queue IS NOT NULL
),
targets AS (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.name, w.lookahead
  FROM wants w
  CROSS JOIN (SELECT h.queue FROM hops h WHERE h.queue IS NOT NULL
              UNION SELECT q.name FROM "My ""Jobs""".river_queue q) AS n(name)
  WHERE w.queue IS NULL
),
-- The states in which a queue has unfinished jobs. All that follows is spared for the others, and with it
-- nearly everything for a name that nobody uses.
live AS MATERIALIZED (
  SELECT t.queue, t.lookahead,
         statement_timestamp() AS now,
         statement_timestamp() + t.lookahead * interval '1 second' AS horizon,
         q.name IS NOT NULL AS registered,
         q.paused_at IS NOT NULL AS paused,
         ARRAY(SELECT s.state FROM unnest(enum_range(NULL::"My ""Jobs""".river_job_state)) AS s(state)
               WHERE s.state NOT IN ('cancelled', 'completed', 'discarded') AND EXISTS (
                 SELECT FROM "My ""Jobs""".river_job j WHERE j.state = s.state AND j.queue = t.queue)) AS states
  FROM targets t
  LEFT JOIN "My ""Jobs""".river_queue q ON q.name = t.queue
),
counts AS (
  SELECT l.*, ready.n AS ready, scheduled.n AS scheduled, running.n AS running
  FROM live l
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.states) AS s(state), generate_series(1, 4) AS p(priority), LATERAL (
        SELECT FROM "My ""Jobs""".river_job j
        WHERE j.state = s.state AND j.queue = l.queue AND j.priority = p.priority AND j.scheduled_at <= l.horizon
        ORDER BY j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
      ) AS due
      WHERE s.state IN ('available', 'scheduled', 'retryable') AND NOT l.paused
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS ready
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.states) AS s(state), generate_series(1, 4) AS p(priority), LATERAL (
        SELECT FROM "My ""Jobs""".river_job j
        WHERE j.state = s.state AND j.queue = l.queue AND j.priority = p.priority AND j.scheduled_at > l.horizon
        ORDER BY j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
      ) AS later
      WHERE s.state IN ('available', 'scheduled', 'retryable')
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS scheduled
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM "My ""Jobs""".river_job j
      WHERE 'running' = ANY (l.states) AND j.state = 'running' AND j.queue = l.queue
        AND j.attempted_at > l.now - $3::float8 * interval '1 second'
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS running
)
SELECT c.queue, c.lookahead, c.paused,
  c.registered OR cardinality(c.states) > 0 OR EXISTS (
    SELECT FROM unnest(ARRAY['completed', 'cancelled', 'discarded']::"My ""Jobs""".river_job_state[]) AS s(state)
    WHERE EXISTS (SELECT FROM "My ""Jobs""".river_job j WHERE j.state = s.state AND j.queue = c.queue)
  ) AS known,
  least(c.ready, nullif($2::bigint, 0)) AS ready,
  least(c.scheduled, nullif($2::bigint, 0)) AS scheduled,
  least(c.running, nullif($2::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($2::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN (
    SELECT greatest(0, extract(epoch FROM c.now - min(first.scheduled_at)))::float8
    FROM unnest(c.states) AS s(state), generate_series(1, 4) AS p(priority), LATERAL (
      SELECT j.scheduled_at FROM "My ""Jobs""".river_job j
      WHERE j.state = s.state AND j.queue = c.queue AND j.priority = p.priority AND j.scheduled_at <= c.horizon
      ORDER BY j.scheduled_at LIMIT 1
    ) AS first
    WHERE s.state IN ('available', 'scheduled', 'retryable')
  ) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN (
    SELECT extract(epoch FROM min(next.scheduled_at) - c.now)::float8
    FROM unnest(c.states) AS s(state), generate_series(1, 4) AS p(priority), LATERAL (
      SELECT j.scheduled_at FROM "My ""Jobs""".river_job j
      WHERE j.state = s.state AND j.queue = c.queue AND j.priority = p.priority AND j.scheduled_at > c.horizon
      ORDER BY j.scheduled_at LIMIT 1
    ) AS next
    WHERE s.state IN ('available', 'scheduled', 'retryable')
  ) END AS next_due_seconds
FROM counts c
