-- Each look is a probe of Que's index for polling, of jobs that are neither finished nor expired, and each count is bounded.
-- Queue and priority stand before the time in it, so "due by now" and "due first" are asked once for each priority that
-- there is. From migration 6 on it begins with job_schema_version, by which workers of Que 1 and Que 2 tell their
-- jobs apart; what differs for that is put in by que.go.
--
-- That a job is being worked shows only by the advisory lock on its number, which its locker's connection holds. So a job
-- whose worker died is ready again at once.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
versions AS (SELECT 1 AS version),
-- The distinct queues of each version, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT p.version, (SELECT j.queue FROM "My ""Jobs""".que_jobs j
                     WHERE  j.finished_at IS NULL AND j.expired_at IS NULL
                     ORDER BY j.queue, j.priority LIMIT 1) AS queue
  FROM versions p
  WHERE p.version IS NOT NULL AND EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT p.version, (SELECT j.queue FROM "My ""Jobs""".que_jobs j
                     WHERE  j.queue > p.queue AND j.finished_at IS NULL AND j.expired_at IS NULL
                     ORDER BY j.queue, j.priority LIMIT 1)
  FROM hops p
  WHERE p.queue IS NOT NULL
),
-- Lockers whose connection lives; the row of one that died stays until the next one starts.
lockers AS MATERIALIZED (
  SELECT k.pid, k.worker_count, k.queues FROM "My ""Jobs""".que_lockers k
  WHERE EXISTS (SELECT FROM pg_stat_get_activity(k.pid))
),
targets AS MATERIALIZED (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.queue, w.lookahead
  FROM wants w
  CROSS JOIN (SELECT h.queue FROM hops h WHERE h.queue IS NOT NULL
              UNION SELECT q.name FROM lockers k, unnest(k.queues) AS q(name)) AS n
  WHERE w.queue IS NULL
),
-- The jobs that somebody has locked, and whether that is a locker. A lock on a number of one's own is one as well: Que
-- passes such a job by.
locked AS MATERIALIZED (
  SELECT j.id, j.queue, j.run_at, l.worked
  FROM (
    SELECT (s.classid::bigint << 32) | s.objid::bigint AS id, bool_or(s.pid IN (SELECT k.pid FROM lockers k)) AS worked
    FROM pg_locks s
    WHERE s.locktype = 'advisory' AND s.objsubid = 1 AND s.granted
      AND s.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    GROUP BY s.classid, s.objid
  ) AS l
  CROSS JOIN LATERAL (
    SELECT o.id, o.queue, o.run_at FROM "My ""Jobs""".que_jobs o
    WHERE o.id = l.id AND o.finished_at IS NULL AND o.expired_at IS NULL LIMIT 1
  ) AS j
),
-- The priorities of each queue, hopping from one to the next.
heads AS (
  SELECT t.queue, p.version, (SELECT j.priority FROM "My ""Jobs""".que_jobs j
                              WHERE  j.queue = t.queue AND j.finished_at IS NULL AND j.expired_at IS NULL
                              ORDER BY j.priority, j.run_at LIMIT 1) AS priority
  FROM (SELECT DISTINCT queue FROM targets) AS t
  CROSS JOIN versions p
  WHERE p.version IS NOT NULL
  UNION ALL
  SELECT p.queue, p.version, (SELECT j.priority FROM "My ""Jobs""".que_jobs j
                              WHERE  j.queue = p.queue AND j.priority > p.priority
                                AND j.finished_at IS NULL AND j.expired_at IS NULL
                              ORDER BY j.priority, j.run_at LIMIT 1)
  FROM heads p
  WHERE p.priority IS NOT NULL
),
live AS MATERIALIZED (
  SELECT t.queue, t.lookahead, statement_timestamp() AS now,
         statement_timestamp() + t.lookahead * interval '1 second' AS horizon,
         coalesce(h.versions, '{}') AS versions, coalesce(h.priorities, '{}') AS priorities,
         (SELECT count(*) FROM locked k WHERE k.queue = t.queue AND k.worked) AS running
  FROM targets t
  LEFT JOIN (
    SELECT h.queue, array_agg(h.version) AS versions, array_agg(h.priority) AS priorities
    FROM heads h WHERE h.priority IS NOT NULL GROUP BY h.queue
  ) AS h ON h.queue = t.queue
),
-- Locked jobs are few and are taken off again.
counts AS (
  SELECT l.*, greatest(0, due.n - taken.due) AS ready, greatest(0, later.n - taken.later) AS scheduled
  FROM live l
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE k.run_at <= l.horizon) AS due, count(*) FILTER (WHERE k.run_at > l.horizon) AS later
    FROM locked k WHERE k.queue = l.queue
  ) AS taken
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.versions, l.priorities) AS p(version, priority), LATERAL (
        SELECT FROM "My ""Jobs""".que_jobs j
        WHERE  j.queue = l.queue AND j.priority = p.priority AND j.run_at <= l.horizon
          AND j.finished_at IS NULL AND j.expired_at IS NULL
        ORDER BY j.run_at LIMIT nullif($2::bigint, 0) + 1 + taken.due
      ) AS due
      LIMIT nullif($2::bigint, 0) + 1 + taken.due
    ) AS bounded
  ) AS due
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM unnest(l.versions, l.priorities) AS p(version, priority), LATERAL (
        SELECT FROM "My ""Jobs""".que_jobs j
        WHERE  j.queue = l.queue AND j.priority = p.priority AND j.run_at > l.horizon
          AND j.finished_at IS NULL AND j.expired_at IS NULL
        ORDER BY j.run_at LIMIT nullif($2::bigint, 0) + 1 + taken.later
      ) AS later
      LIMIT nullif($2::bigint, 0) + 1 + taken.later
    ) AS bounded
  ) AS later
)
SELECT c.queue, c.lookahead,
  c.priorities <> '{}' OR EXISTS (SELECT FROM lockers k WHERE c.queue = ANY (k.queues)) AS known,
  least(c.ready, nullif($2::bigint, 0)) AS ready,
  least(c.scheduled, nullif($2::bigint, 0)) AS scheduled,
  least(c.running, nullif($2::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($2::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN (
    SELECT greatest(0, extract(epoch FROM c.now - min(first.run_at)))::float8
    FROM unnest(c.versions, c.priorities) AS p(version, priority), LATERAL (
      SELECT j.run_at FROM "My ""Jobs""".que_jobs j
      WHERE  j.queue = c.queue AND j.priority = p.priority AND j.run_at <= c.horizon
        AND j.finished_at IS NULL AND j.expired_at IS NULL AND NOT j.id = ANY (ARRAY(SELECT k.id FROM locked k))
      ORDER BY j.run_at LIMIT 1
    ) AS first
  ) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN (
    SELECT extract(epoch FROM min(next.run_at) - c.now)::float8
    FROM unnest(c.versions, c.priorities) AS p(version, priority), LATERAL (
      SELECT j.run_at FROM "My ""Jobs""".que_jobs j
      WHERE  j.queue = c.queue AND j.priority = p.priority AND j.run_at > c.horizon
        AND j.finished_at IS NULL AND j.expired_at IS NULL
      ORDER BY j.run_at LIMIT 1
    ) AS next
  ) END AS next_due_seconds,
  pool.workers, pool.capacity
FROM counts c
CROSS JOIN LATERAL (
  SELECT count(*) AS workers, coalesce(sum(k.worker_count), 0)::bigint AS capacity
  FROM lockers k WHERE c.queue = ANY (k.queues)
) AS pool
