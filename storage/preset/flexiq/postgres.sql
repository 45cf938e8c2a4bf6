-- A queue of the default namespace goes by its name, one of another by namespace/queue. So a wanted name with a slash may
-- mean two queues, the lanes of the name: each is counted by itself, and the sum is the name's.
--
-- Looks are probes of FlexiQ's index (queue, status, priority DESC, scheduled_at), and each count is bounded. Priority
-- stands before the time in it, so "due by now" and "due first" are asked once for each priority in use.
-- Status 0 is pending, 1 running, 2 complete. Times are epoch milliseconds.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text, lookahead float8)
),
clock AS MATERIALIZED (
  SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now
),
-- Queues and namespaces by hopping from one to the next; only when somebody wants every queue. The end of each is NULL.
queues AS (
  SELECT (SELECT j.queue FROM {schema}jobs j ORDER BY j.queue LIMIT 1) AS queue
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT (SELECT j.queue FROM {schema}jobs j WHERE j.queue > q.queue ORDER BY j.queue LIMIT 1)
  FROM queues q
  WHERE q.queue IS NOT NULL
),
namespaces AS (
  SELECT (SELECT j.namespace FROM {schema}jobs j WHERE j.namespace IS NOT NULL ORDER BY j.namespace LIMIT 1) AS namespace
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT (SELECT j.namespace FROM {schema}jobs j WHERE j.namespace > n.namespace ORDER BY j.namespace LIMIT 1)
  FROM namespaces n
  WHERE n.namespace IS NOT NULL
),
names AS (
  SELECT coalesce(n.namespace || '/', '') || q.queue AS name
  FROM queues q CROSS JOIN namespaces n
  WHERE q.queue <> '' AND EXISTS (
    SELECT FROM {schema}jobs j WHERE j.queue = q.queue AND j.namespace IS NOT DISTINCT FROM n.namespace)
  UNION
  SELECT coalesce(s.namespace || '/', '') || s.queue_name
  FROM {schema}queue_state s
  WHERE s.queue_name <> '' AND EXISTS (SELECT FROM wants WHERE queue IS NULL)
),
targets AS (
  SELECT w.queue AS name, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.name, w.lookahead FROM wants w CROSS JOIN names n WHERE w.queue IS NULL
),
parts AS MATERIALIZED (
  SELECT t.name, t.lookahead, NULL::text AS namespace, t.name AS queue FROM targets t
  UNION ALL
  SELECT t.name, t.lookahead, split_part(t.name, '/', 1), substr(t.name, strpos(t.name, '/') + 1)
  FROM targets t
  WHERE t.name LIKE '%/%'
),
priorities AS (
  SELECT p.queue, (SELECT j.priority FROM {schema}jobs j WHERE j.queue = p.queue AND j.status = 0
                   ORDER BY j.priority DESC LIMIT 1) AS priority
  FROM (SELECT DISTINCT queue FROM parts) AS p
  UNION ALL
  SELECT p.queue, (SELECT j.priority FROM {schema}jobs j WHERE j.queue = p.queue AND j.status = 0 AND j.priority < p.priority
                   ORDER BY j.priority DESC LIMIT 1)
  FROM priorities p
  WHERE p.priority IS NOT NULL
),
lanes AS MATERIALIZED (
  SELECT p.*, clock.now, clock.now + (p.lookahead * 1000)::bigint AS horizon,
         clock.now - 30000 AS dead, -- workers that have not beaten since
         s.queue_name IS NOT NULL AS registered, coalesce(s.paused, false) AS paused, used.priorities
  FROM clock, parts p
  LEFT JOIN {schema}queue_state s ON s.queue_name = p.queue AND coalesce(s.namespace, '') = coalesce(p.namespace, '')
  LEFT JOIN (SELECT u.queue, array_agg(u.priority) AS priorities FROM priorities u
             WHERE u.priority IS NOT NULL GROUP BY u.queue) AS used ON used.queue = p.queue
)
SELECT l.name AS queue, l.lookahead,
  bool_or(l.registered OR ready.n + later.n + running.n > 0
    OR EXISTS (SELECT FROM {schema}jobs j WHERE j.queue = l.queue AND j.namespace IS NOT DISTINCT FROM l.namespace)
    OR EXISTS (SELECT FROM {schema}archived_jobs j WHERE j.queue = l.queue AND j.namespace IS NOT DISTINCT FROM l.namespace)
  ) AS known,
  bool_or(l.paused) AND sum(ready.n) = 0 AS paused,
  least(sum(ready.n), nullif(@limit::bigint, 0)) AS ready,
  least(sum(later.n), nullif(@limit::bigint, 0)) AS scheduled,
  least(sum(running.n), nullif(@limit::bigint, 0)) AS running,
  greatest(sum(ready.n), sum(later.n), sum(running.n)) > nullif(@limit::bigint, 0) AS saturated,
  max(greatest(0, l.now - ready.first)) FILTER (WHERE ready.n > 0) / 1000.0::float8 AS oldest_seconds,
  min(later.first - l.now) / 1000.0::float8 AS next_due_seconds,
  sum(pool.workers) AS workers, sum(pool.capacity) AS capacity
FROM lanes l
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(bounded.first) AS first FROM (
    SELECT due.first FROM unnest(l.priorities) AS p(priority), LATERAL (
      SELECT j.scheduled_at AS first FROM {schema}jobs j
      WHERE j.queue = l.queue AND j.status = 0 AND j.priority = p.priority AND j.scheduled_at <= l.horizon
        AND j.namespace IS NOT DISTINCT FROM l.namespace
        AND (j.expires_at IS NULL OR j.expires_at >= l.now)
        AND NOT (j.has_deps AND EXISTS (
          SELECT FROM {schema}job_dependencies d
          LEFT JOIN {schema}jobs live ON live.id = d.depends_on_job_id
          LEFT JOIN {schema}archived_jobs done ON done.id = d.depends_on_job_id
          WHERE d.job_id = j.id AND (live.status <> 2 OR done.status <> 2)))
      ORDER BY j.scheduled_at LIMIT nullif(@limit::bigint, 0) + 1
    ) AS due
    WHERE NOT l.paused
    LIMIT nullif(@limit::bigint, 0) + 1
  ) AS bounded
) AS ready
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(bounded.first) AS first FROM (
    SELECT later.first FROM unnest(l.priorities) AS p(priority), LATERAL (
      SELECT j.scheduled_at AS first FROM {schema}jobs j
      WHERE j.queue = l.queue AND j.status = 0 AND j.priority = p.priority AND j.scheduled_at > l.horizon
        AND j.namespace IS NOT DISTINCT FROM l.namespace
      ORDER BY j.scheduled_at LIMIT nullif(@limit::bigint, 0) + 1
    ) AS later
    LIMIT nullif(@limit::bigint, 0) + 1
  ) AS bounded
) AS later
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT FROM {schema}jobs j
    WHERE j.queue = l.queue AND j.status = 1 AND j.namespace IS NOT DISTINCT FROM l.namespace
      AND j.started_at > l.now - (@running_max_age::float8 * 1000)::bigint
      -- A claim of a worker that has stopped beating is what only a live worker puts right.
      AND NOT EXISTS (
        SELECT FROM {schema}execution_claims c
        LEFT JOIN {schema}workers w ON w.worker_id = c.worker_id AND w.last_heartbeat >= l.dead
        WHERE c.job_id = j.id AND w.worker_id IS NULL)
    LIMIT nullif(@limit::bigint, 0) + 1
  ) AS bounded
) AS running
CROSS JOIN LATERAL (
  SELECT count(*) AS workers, sum(w.threads) AS capacity
  FROM {schema}workers w
  WHERE w.last_heartbeat >= l.dead AND w.namespace IS NOT DISTINCT FROM l.namespace
    AND l.queue = ANY (string_to_array(w.queues, ','))
) AS pool
GROUP BY l.name, l.lookahead
