-- Procrastinate has no index that leads from a queue to the jobs that wait there, and one by queue in which finished jobs
-- stay for ever. So the jobs that wait are passed over, once with and once without a lock, whatever is wanted, by the
-- index that holds no others.
--
-- Of the jobs that share a lock one runs at a time, in the order of priority and age: only the first can be ready, and
-- not while one runs.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text, lookahead float8)
),
looks AS MATERIALIZED (
  SELECT DISTINCT w.lookahead, statement_timestamp() AS now,
         statement_timestamp() + w.lookahead * interval '1 second' AS horizon
  FROM wants w
),
free AS (
  SELECT l.lookahead, j.queue_name,
         count(*) FILTER (WHERE j.scheduled_at IS NULL OR j.scheduled_at <= l.horizon) AS ready,
         min(j.scheduled_at) FILTER (WHERE j.scheduled_at <= l.horizon) AS first,
         min(j.id) FILTER (WHERE j.scheduled_at IS NULL) AS eldest,
         count(*) FILTER (WHERE j.scheduled_at > l.horizon) AS scheduled,
         min(j.scheduled_at) FILTER (WHERE j.scheduled_at > l.horizon) AS next
  FROM {schema}procrastinate_jobs j
  CROSS JOIN looks l
  WHERE j.status = 'todo' AND j.lock IS NULL
  GROUP BY l.lookahead, j.queue_name
),
locked AS MATERIALIZED (
  SELECT l.lookahead, l.horizon, j.queue_name, j.id, j.scheduled_at,
         coalesce(j.scheduled_at <= l.horizon, true) AS due,
         -- whether it is the first of its lock
         CASE WHEN {holds} THEN row_number() OVER (
           PARTITION BY l.lookahead, j.lock, {holds} ORDER BY j.priority DESC, j.id
         ) = 1 AND NOT EXISTS (
           SELECT FROM {schema}procrastinate_jobs d WHERE d.status = 'doing' AND d.lock = j.lock
         ) END AS head
  FROM {schema}procrastinate_jobs j
  CROSS JOIN looks l
  WHERE j.status = 'todo' AND j.lock IS NOT NULL
),
serial AS (
  SELECT k.lookahead, k.queue_name,
         count(*) FILTER (WHERE k.head AND k.due) AS ready,
         min(k.scheduled_at) FILTER (WHERE k.head AND k.due) AS first,
         min(k.id) FILTER (WHERE k.head AND k.scheduled_at IS NULL) AS eldest,
         count(*) FILTER (WHERE NOT k.due) AS scheduled,
         min(k.scheduled_at) FILTER (WHERE NOT k.due) AS next
  FROM locked k
  GROUP BY k.lookahead, k.queue_name
),
waiting AS MATERIALIZED (
  SELECT u.lookahead, u.queue_name, sum(u.ready)::bigint AS ready, min(u.first) AS first, min(u.eldest) AS eldest,
         sum(u.scheduled)::bigint AS scheduled, min(u.next) AS next
  FROM (SELECT * FROM free UNION ALL SELECT * FROM serial) u
  GROUP BY u.lookahead, u.queue_name
),
-- A worker that died takes its beat along; other workers then delete it, and with it the name of the worker in the job.
running AS MATERIALIZED (
  SELECT j.queue_name, count(*) AS n
  FROM {schema}procrastinate_jobs j
  JOIN {schema}procrastinate_workers w ON w.id = j.worker_id
  WHERE j.status = 'doing' AND w.last_heartbeat > statement_timestamp() - @running_max_age::float8 * interval '1 second'
  GROUP BY j.queue_name
),
-- The distinct queues, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  (SELECT j.queue_name FROM {schema}procrastinate_jobs j
   WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL) ORDER BY j.queue_name LIMIT 1)
  UNION ALL
  SELECT (SELECT j.queue_name FROM {schema}procrastinate_jobs j
          WHERE j.queue_name > h.queue_name ORDER BY j.queue_name LIMIT 1)
  FROM hops h
  WHERE h.queue_name IS NOT NULL
),
paused AS MATERIALIZED ({paused}),
targets AS (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.queue_name, w.lookahead
  FROM wants w
  CROSS JOIN (SELECT h.queue_name FROM hops h WHERE h.queue_name IS NOT NULL UNION SELECT p.queue_name FROM paused p) AS n
  WHERE w.queue IS NULL
)
SELECT t.queue, t.lookahead, p.paused,
  p.paused OR EXISTS (SELECT FROM {schema}procrastinate_jobs j WHERE j.queue_name = t.queue) AS known,
  least(c.ready, nullif(@limit::bigint, 0)) AS ready,
  least(c.running, nullif(@limit::bigint, 0)) AS running,
  least(c.scheduled, nullif(@limit::bigint, 0)) AS scheduled,
  greatest(c.ready, c.running, c.scheduled) > nullif(@limit::bigint, 0) AS saturated,
  -- A job that was not scheduled says only in the log of events when it came.
  CASE WHEN c.ready > 0 THEN greatest(0, extract(epoch FROM l.now - least(w.first, (
    SELECT min(e.at) FROM {schema}procrastinate_events e WHERE e.job_id = w.eldest AND e.type = 'deferred'
  ))))::float8 END AS oldest_seconds,
  extract(epoch FROM w.next - l.now)::float8 AS next_due_seconds
FROM targets t
JOIN looks l ON l.lookahead = t.lookahead
LEFT JOIN waiting w ON w.lookahead = t.lookahead AND w.queue_name = t.queue
LEFT JOIN running r ON r.queue_name = t.queue
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM paused q WHERE q.queue_name = t.queue) AS paused) AS p
CROSS JOIN LATERAL (
  SELECT CASE WHEN p.paused THEN 0 ELSE coalesce(w.ready, 0) END AS ready,
         coalesce(r.n, 0) AS running, coalesce(w.scheduled, 0) AS scheduled
) AS c
