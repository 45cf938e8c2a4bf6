-- Each look is a probe of Oban's index (state, queue, priority, scheduled_at, id), and each count is bounded. Priority
-- stands before the time in it, so "due by now" and "due first" are asked once for each priority in use. The LIMIT
-- and ORDER BY within each look keep it a probe whatever the planner thinks of the table.
--
-- Ready is what Oban's fetching takes, available jobs whatever their time, and what its stager would make
-- available: scheduled and retryable jobs that are due. The stager runs in Oban's nodes, and at zero replicas there is
-- none. Times are UTC without a zone. States are compared as text, because an older type lacks some.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
-- The distinct queues of each state, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT s.state, (SELECT j.queue FROM "My ""Jobs""".oban_jobs j
                   WHERE j.state = s.state ORDER BY j.queue LIMIT 1) AS queue
  FROM unnest(enum_range(NULL::"My ""Jobs""".oban_job_state)) AS s(state)
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT h.state, (SELECT j.queue FROM "My ""Jobs""".oban_jobs j
                   WHERE j.state = h.state AND j.queue > h.queue ORDER BY j.queue LIMIT 1)
  FROM hops h
  WHERE h.queue IS NOT NULL
),
targets AS (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT h.queue, w.lookahead FROM wants w CROSS JOIN hops h WHERE w.queue IS NULL AND h.queue IS NOT NULL
),
-- The states in which a queue has jobs, and of those that jobs become ready from the priorities, hopping from one to the
-- next. All that follows is spared for the others, and with it nearly everything for a name that nobody uses. The
-- ORDER BY keeps each look on the index that begins with state and queue: there are others that begin with state, and
-- all jobs of a state to go through.
heads AS (
  SELECT t.queue, s.state, (SELECT j.priority FROM "My ""Jobs""".oban_jobs j WHERE j.state = s.state AND j.queue = t.queue
                            ORDER BY j.priority, j.scheduled_at LIMIT 1) AS priority
  FROM (SELECT DISTINCT queue FROM targets) AS t
  CROSS JOIN unnest(enum_range(NULL::"My ""Jobs""".oban_job_state)) AS s(state)
  UNION ALL
  SELECT h.queue, h.state, (SELECT j.priority FROM "My ""Jobs""".oban_jobs j
                            WHERE j.state = h.state AND j.queue = h.queue AND j.priority > h.priority
                            ORDER BY j.priority, j.scheduled_at LIMIT 1)
  FROM heads h
  WHERE h.priority IS NOT NULL AND h.state::text IN ('available', 'scheduled', 'retryable')
),
live AS MATERIALIZED (
  SELECT t.queue, t.lookahead, clock.now, clock.now + t.lookahead * interval '1 second' AS horizon,
         h.queue IS NOT NULL AS known, coalesce(h.executing, false) AS executing, h.states, h.priorities
  FROM targets t
  CROSS JOIN (SELECT statement_timestamp() AT TIME ZONE 'utc' AS now) AS clock
  LEFT JOIN (
    SELECT h.queue, bool_or(h.state = 'executing') AS executing,
           array_agg(h.state) FILTER (WHERE h.state::text IN ('available', 'scheduled', 'retryable')) AS states,
           array_agg(h.priority) FILTER (WHERE h.state::text IN ('available', 'scheduled', 'retryable')) AS priorities
    FROM heads h WHERE h.priority IS NOT NULL GROUP BY h.queue
  ) AS h ON h.queue = t.queue
),
counts AS (
  SELECT l.*, ready.n AS ready, scheduled.n AS scheduled, running.n AS running
  FROM live l
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.states, l.priorities) AS p(state, priority), LATERAL (
        SELECT FROM "My ""Jobs""".oban_jobs j
        WHERE j.state = p.state AND j.queue = l.queue AND j.priority = p.priority
          AND j.scheduled_at <= CASE p.state::text WHEN 'available' THEN 'infinity' ELSE l.horizon END
        ORDER BY j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
      ) AS due
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS ready
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.states, l.priorities) AS p(state, priority), LATERAL (
        SELECT FROM "My ""Jobs""".oban_jobs j
        WHERE j.state = p.state AND j.queue = l.queue AND j.priority = p.priority AND j.scheduled_at > l.horizon
        ORDER BY j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
      ) AS later
      WHERE p.state::text <> 'available'
      LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS scheduled
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM "My ""Jobs""".oban_jobs j
      WHERE l.executing AND j.state = 'executing' AND j.queue = l.queue
        AND j.attempted_at > l.now - $3::float8 * interval '1 second'
      ORDER BY j.priority, j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS running
)
SELECT c.queue, c.lookahead, c.known,
  least(c.ready, nullif($2::bigint, 0)) AS ready,
  least(c.scheduled, nullif($2::bigint, 0)) AS scheduled,
  least(c.running, nullif($2::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($2::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN (
    SELECT greatest(0, extract(epoch FROM c.now - min(first.scheduled_at)))::float8
    FROM unnest(c.states, c.priorities) AS p(state, priority), LATERAL (
      SELECT j.scheduled_at FROM "My ""Jobs""".oban_jobs j
      WHERE j.state = p.state AND j.queue = c.queue AND j.priority = p.priority
        AND j.scheduled_at <= CASE p.state::text WHEN 'available' THEN 'infinity' ELSE c.horizon END
      ORDER BY j.scheduled_at LIMIT 1
    ) AS first
  ) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN (
    SELECT extract(epoch FROM min(next.scheduled_at) - c.now)::float8
    FROM unnest(c.states, c.priorities) AS p(state, priority), LATERAL (
      SELECT j.scheduled_at FROM "My ""Jobs""".oban_jobs j
      WHERE j.state = p.state AND j.queue = c.queue AND j.priority = p.priority AND j.scheduled_at > c.horizon
      ORDER BY j.scheduled_at LIMIT 1
    ) AS next
    WHERE p.state::text <> 'available'
  ) END AS next_due_seconds
FROM counts c
