-- Which of Solid Queue's tables a job's row is in is the state of the job; blocked_executions are not read, because a
-- blocked job becomes ready only when another one ends.
--
-- Ready executions have an index (queue_name, priority, job_id), and each look at them is a bounded probe of it.
-- Scheduled executions have one by time only: they are read once for all queues, in the order in which they come due,
-- and not for ever. Ready includes those that are due: it is Solid Queue's dispatcher that makes them ready, and at
-- zero replicas there is none. Times are UTC without a zone.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
clock AS MATERIALIZED (SELECT statement_timestamp() AT TIME ZONE 'utc' AS now),
-- The distinct queues of all jobs, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT (SELECT j.queue_name FROM "My ""Jobs""".solid_queue_jobs j ORDER BY j.queue_name LIMIT 1) AS queue
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT (SELECT j.queue_name FROM "My ""Jobs""".solid_queue_jobs j
          WHERE j.queue_name > h.queue ORDER BY j.queue_name LIMIT 1)
  FROM hops h
  WHERE h.queue IS NOT NULL
),
targets AS MATERIALIZED (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.queue, w.lookahead
  FROM wants w
  CROSS JOIN (SELECT h.queue FROM hops h WHERE h.queue IS NOT NULL
              UNION SELECT p.queue_name FROM "My ""Jobs""".solid_queue_pauses p) AS n
  WHERE w.queue IS NULL
),
-- At least 100,000 of the scheduled executions, whatever the limit of one queue.
waiting AS MATERIALIZED (
  SELECT s.queue_name, s.scheduled_at
  FROM "My ""Jobs""".solid_queue_scheduled_executions s
  ORDER BY s.scheduled_at, s.priority, s.job_id
  LIMIT CASE WHEN $2::bigint > 0 THEN greatest($2::bigint, 100000) + 1 END
),
scheduled AS MATERIALIZED (
  SELECT h.lookahead, s.queue_name AS queue,
         count(*) FILTER (WHERE s.scheduled_at <= h.time) AS due,
         count(*) FILTER (WHERE s.scheduled_at > h.time) AS later,
         min(s.scheduled_at) FILTER (WHERE s.scheduled_at <= h.time) AS first_due,
         min(s.scheduled_at) FILTER (WHERE s.scheduled_at > h.time) AS next
  FROM (SELECT DISTINCT w.lookahead, c.now + w.lookahead * interval '1 second' AS time FROM wants w, clock c) AS h
  CROSS JOIN waiting s
  GROUP BY h.lookahead, s.queue_name
),
-- Processes that have beaten within Solid Queue's own threshold. The others are dead, and their claims with them.
alive AS MATERIALIZED (
  SELECT p.id, p.kind, CASE WHEN p.metadata ~ '^\s*\{' THEN p.metadata::jsonb END AS metadata
  FROM clock c, "My ""Jobs""".solid_queue_processes p
  WHERE p.last_heartbeat_at > c.now - interval '5 minutes'
),
running AS MATERIALIZED (
  SELECT j.queue_name AS queue, count(*) AS n
  FROM alive a
  CROSS JOIN LATERAL (SELECT e.job_id FROM "My ""Jobs""".solid_queue_claimed_executions e
                      WHERE e.process_id = a.id ORDER BY e.job_id LIMIT nullif($2::bigint, 0) + 1) AS claimed
  CROSS JOIN LATERAL (SELECT o.queue_name FROM "My ""Jobs""".solid_queue_jobs o WHERE o.id = claimed.job_id LIMIT 1) AS j
  GROUP BY j.queue_name
),
-- A worker serves names, prefixes that end with *, and all for a * alone.
workers AS MATERIALIZED (
  SELECT a.id, coalesce((a.metadata ->> 'thread_pool_size')::bigint, 0) AS threads, btrim(q.name) AS pattern
  FROM alive a
  CROSS JOIN LATERAL unnest(string_to_array(coalesce(nullif(btrim(a.metadata ->> 'queues'), ''), '*'), ',')) AS q(name)
  WHERE a.kind = 'Worker'
),
counts AS MATERIALIZED (
  SELECT t.queue, t.lookahead, ready.n AS ready, p.queue_name IS NOT NULL AS paused,
         coalesce(s.due, 0) AS due, coalesce(s.later, 0) AS later, s.first_due, s.next, coalesce(r.n, 0) AS running
  FROM targets t
  LEFT JOIN "My ""Jobs""".solid_queue_pauses p ON p.queue_name = t.queue
  LEFT JOIN scheduled s ON s.queue = t.queue AND s.lookahead = t.lookahead
  LEFT JOIN running r ON r.queue = t.queue
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM "My ""Jobs""".solid_queue_ready_executions e
      WHERE e.queue_name = t.queue AND p.queue_name IS NULL
      ORDER BY e.priority, e.job_id LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS ready
),
-- For the age of the oldest: the ready executions at the head of each priority, hopping from one to the next. They are in
-- the order of their jobs, which is nearly that of their times, so a thousand of each are enough.
heads AS (
  SELECT c.queue, (SELECT min(e.priority) FROM "My ""Jobs""".solid_queue_ready_executions e
                   WHERE e.queue_name = c.queue) AS priority
  FROM (SELECT DISTINCT queue FROM counts WHERE ready > 0) AS c
  UNION ALL
  SELECT h.queue, (SELECT e.priority FROM "My ""Jobs""".solid_queue_ready_executions e
                   WHERE e.queue_name = h.queue AND e.priority > h.priority
                   ORDER BY e.priority, e.job_id LIMIT 1)
  FROM heads h
  WHERE h.priority IS NOT NULL
),
oldest AS MATERIALIZED (
  SELECT h.queue, min(head.created_at) AS created_at
  FROM heads h
  CROSS JOIN LATERAL (
    SELECT e.created_at FROM "My ""Jobs""".solid_queue_ready_executions e
    WHERE e.queue_name = h.queue AND e.priority = h.priority ORDER BY e.job_id LIMIT 1000
  ) AS head
  GROUP BY h.queue
),
answers AS (
  SELECT c.*, c.ready + CASE WHEN c.paused THEN 0 ELSE c.due END AS all_ready FROM counts c
)
SELECT a.queue, a.lookahead, a.paused,
  a.paused OR a.ready + a.due + a.later + a.running > 0 OR (
    SELECT true FROM "My ""Jobs""".solid_queue_jobs j WHERE j.queue_name = a.queue ORDER BY j.finished_at LIMIT 1
  ) IS NOT NULL AS known,
  least(a.all_ready, nullif($2::bigint, 0)) AS ready,
  least(a.later, nullif($2::bigint, 0)) AS scheduled,
  least(a.running, nullif($2::bigint, 0)) AS running,
  greatest(a.all_ready, a.later, a.running) > nullif($2::bigint, 0)
    OR ($2::bigint > 0 AND (SELECT count(*) FROM waiting) > greatest($2::bigint, 100000)) AS saturated,
  CASE WHEN a.all_ready > 0 THEN
    greatest(0, extract(epoch FROM c.now - least(o.created_at, a.first_due)))::float8
  END AS oldest_seconds,
  extract(epoch FROM a.next - c.now)::float8 AS next_due_seconds,
  pool.workers, pool.capacity
FROM answers a
CROSS JOIN clock c
LEFT JOIN oldest o ON o.queue = a.queue AND NOT a.paused
CROSS JOIN LATERAL (
  SELECT count(*) AS workers, coalesce(sum(w.threads), 0)::bigint AS capacity
  FROM (
    SELECT DISTINCT w.id, w.threads FROM workers w
    WHERE w.pattern IN ('*', a.queue)
       OR (w.pattern LIKE '%*' AND a.queue LIKE replace(w.pattern, '*', '%'))
  ) AS w
) AS pool
