-- GoodJob keeps unfinished and finished jobs in one table, and evaluates the time when it fetches: there is no state to
-- promote. Each look is a probe of one of its indexes, and each count is bounded: (queue_name, scheduled_at) of
-- unfinished jobs, which alone says how many are due, and (locked_by_id), which says what live processes are at. That
-- the queue's name is compared as a range, and ordered by, keeps the planner off the index by scheduled_at alone: it
-- would have the due jobs of all other queues to go through.
--
-- A job is running while the process that locked it beats. One that a process left behind when it died is ready
-- again, although performed_at is set: GoodJob takes it anew. Times are UTC without a zone.
WITH RECURSIVE wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
clock AS MATERIALIZED (SELECT statement_timestamp() AT TIME ZONE 'utc' AS now),
-- What is paused: queues, and kinds of jobs within a queue. Nobody pauses where enable_pauses is off.
pauses AS MATERIALIZED (
  SELECT coalesce(array_agg(p.name) FILTER (WHERE p.kind = 'queues'), '{}') AS queues,
         coalesce(array_agg(p.name) FILTER (WHERE p.kind = 'job_classes'), '{}') AS classes,
         coalesce(array_agg(p.name) FILTER (WHERE p.kind = 'labels'), '{}') AS labels
  FROM (
    SELECT k.kind, n.name
    FROM "My ""Jobs""".good_job_settings s, unnest(ARRAY['queues', 'job_classes', 'labels']) AS k(kind),
         jsonb_array_elements_text(CASE jsonb_typeof(s.value -> k.kind) WHEN 'array' THEN s.value -> k.kind ELSE '[]' END) AS n(name)
    WHERE s.key = 'pauses'
  ) AS p
),
-- Whether finished jobs can be found by their queue: GoodJob 4.19 has an index for it. Without, a queue is known by its
-- unfinished jobs only.
traces AS MATERIALIZED (
  SELECT EXISTS (
    SELECT FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'queue_name'
    JOIN pg_index i ON i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL AND i.indisvalid
    WHERE c.reltype = pg_typeof(NULL::"My ""Jobs""".good_jobs)::oid
  ) AS indexed
),
-- The distinct queues, by hopping from one to the next; only when somebody wants every queue.
hops AS (
  SELECT CASE WHEN t.indexed
    THEN (SELECT j.queue_name FROM "My ""Jobs""".good_jobs j WHERE j.queue_name IS NOT NULL ORDER BY j.queue_name LIMIT 1)
    ELSE (SELECT j.queue_name FROM "My ""Jobs""".good_jobs j
          WHERE j.finished_at IS NULL AND j.queue_name IS NOT NULL ORDER BY j.queue_name LIMIT 1)
  END AS queue
  FROM traces t
  WHERE EXISTS (SELECT FROM wants WHERE queue IS NULL)
  UNION ALL
  SELECT CASE WHEN t.indexed
    THEN (SELECT j.queue_name FROM "My ""Jobs""".good_jobs j WHERE j.queue_name > h.queue ORDER BY j.queue_name LIMIT 1)
    ELSE (SELECT j.queue_name FROM "My ""Jobs""".good_jobs j
          WHERE j.finished_at IS NULL AND j.queue_name > h.queue ORDER BY j.queue_name LIMIT 1)
  END
  FROM hops h, traces t
  WHERE h.queue IS NOT NULL
),
targets AS MATERIALIZED (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT n.queue, w.lookahead
  FROM wants w
  CROSS JOIN (SELECT h.queue FROM hops h WHERE h.queue IS NOT NULL
              UNION SELECT q.name FROM pauses p, unnest(p.queues) AS q(name)) AS n
  WHERE w.queue IS NULL
),
-- Processes that have beaten within the time after which GoodJob itself gives them up; they beat each 30 seconds.
alive AS MATERIALIZED (
  SELECT p.id, p.state FROM clock c, "My ""Jobs""".good_job_processes p WHERE p.updated_at > c.now - interval '5 minutes'
),
locked AS MATERIALIZED (
  SELECT j.queue_name AS queue, j.scheduled_at, j.job_class, j.labels
  FROM alive a
  CROSS JOIN LATERAL (
    SELECT l.queue_name, l.scheduled_at, l.job_class, l.labels FROM "My ""Jobs""".good_jobs l
    WHERE l.locked_by_id = a.id AND l.finished_at IS NULL
    LIMIT CASE WHEN $2::bigint > 0 THEN greatest($2::bigint, 10000) + 1 END -- never less than its threads
  ) AS j
),
-- A scheduler serves all queues, those named, or all but those named after a minus; one process may have several.
schedulers AS MATERIALIZED (
  SELECT a.id, coalesce((s.stats ->> 'max_threads')::bigint, 0) AS threads, starts_with(t.queues, '-') AS except,
         ARRAY(SELECT btrim(n.name) FROM unnest(string_to_array(ltrim(t.queues, '+-'), ',')) AS n(name)) AS names
  FROM alive a
  CROSS JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(a.state -> 'schedulers') WHEN 'array' THEN a.state -> 'schedulers' ELSE '[]' END) AS s(stats)
  CROSS JOIN LATERAL (SELECT coalesce(nullif(btrim(s.stats ->> 'queues'), ''), '*') AS queues) AS t
),
live AS MATERIALIZED (
  SELECT t.queue, t.lookahead, c.now, c.now + t.lookahead * interval '1 second' AS horizon,
         t.queue = ANY (p.queues) AS paused,
         p.classes <> '{}' OR p.labels <> '{}' AS filtered, p.classes, p.labels,
         (SELECT true FROM "My ""Jobs""".good_jobs j
          WHERE j.queue_name >= t.queue AND j.queue_name <= t.queue AND j.finished_at IS NULL
          ORDER BY j.queue_name, j.scheduled_at LIMIT 1) IS NOT NULL AS unfinished,
         (SELECT count(*) FROM locked l WHERE l.queue = t.queue) AS running
  FROM targets t, clock c, pauses p
),
-- Due jobs include those that are running, which are few and are taken off again.
due AS MATERIALIZED (
  SELECT l.queue, l.lookahead,
    CASE
      WHEN l.paused OR NOT l.unfinished THEN 0
      WHEN l.filtered THEN (
        SELECT count(*) FROM (
          SELECT FROM "My ""Jobs""".good_jobs j
          WHERE j.queue_name >= l.queue AND j.finished_at IS NULL AND (j.queue_name, j.scheduled_at) <= (l.queue, l.horizon)
            AND NOT coalesce(j.job_class = ANY (l.classes), false) AND NOT coalesce(j.labels && l.labels, false)
            AND NOT coalesce(j.locked_by_id = ANY (ARRAY(SELECT a.id FROM alive a)), false)
          ORDER BY j.queue_name, j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
        ) AS bounded)
      ELSE (
        SELECT greatest(0, count(*) - (SELECT count(*) FROM locked k WHERE k.queue = l.queue AND k.scheduled_at <= l.horizon))
        FROM (
          SELECT FROM "My ""Jobs""".good_jobs j
          WHERE j.queue_name >= l.queue AND j.finished_at IS NULL AND (j.queue_name, j.scheduled_at) <= (l.queue, l.horizon)
          ORDER BY j.queue_name, j.scheduled_at LIMIT nullif($2::bigint, 0) + 1 + l.running
        ) AS bounded)
    END AS ready
  FROM live l
),
counts AS (
  SELECT l.*, d.ready, scheduled.n AS scheduled
  FROM live l
  JOIN due d ON d.queue = l.queue AND d.lookahead = l.lookahead
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM "My ""Jobs""".good_jobs j
      WHERE l.unfinished AND j.queue_name <= l.queue AND j.finished_at IS NULL AND (j.queue_name, j.scheduled_at) > (l.queue, l.horizon)
      ORDER BY j.queue_name, j.scheduled_at LIMIT nullif($2::bigint, 0) + 1
    ) AS bounded
  ) AS scheduled
)
SELECT c.queue, c.lookahead, c.paused,
  c.paused OR c.unfinished OR CASE WHEN t.indexed THEN
    EXISTS (SELECT FROM "My ""Jobs""".good_jobs j WHERE j.queue_name = c.queue) ELSE false
  END AS known,
  least(c.ready, nullif($2::bigint, 0)) AS ready,
  least(c.scheduled, nullif($2::bigint, 0)) AS scheduled,
  least(c.running, nullif($2::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif($2::bigint, 0) AS saturated,
  CASE WHEN c.ready > 0 THEN (
    SELECT greatest(0, extract(epoch FROM c.now - j.scheduled_at))::float8 FROM "My ""Jobs""".good_jobs j
    WHERE j.queue_name >= c.queue AND j.finished_at IS NULL AND (j.queue_name, j.scheduled_at) <= (c.queue, c.horizon)
      AND NOT coalesce(j.job_class = ANY (c.classes), false) AND NOT coalesce(j.labels && c.labels, false)
      AND NOT coalesce(j.locked_by_id = ANY (ARRAY(SELECT a.id FROM alive a)), false)
    ORDER BY j.queue_name, j.scheduled_at LIMIT 1
  ) END AS oldest_seconds,
  CASE WHEN c.scheduled > 0 THEN (
    SELECT extract(epoch FROM j.scheduled_at - c.now)::float8 FROM "My ""Jobs""".good_jobs j
    WHERE j.queue_name <= c.queue AND j.finished_at IS NULL AND (j.queue_name, j.scheduled_at) > (c.queue, c.horizon)
    ORDER BY j.queue_name, j.scheduled_at LIMIT 1
  ) END AS next_due_seconds,
  pool.workers, pool.capacity
FROM counts c
CROSS JOIN traces t
CROSS JOIN LATERAL (
  SELECT count(DISTINCT s.id) AS workers, coalesce(sum(s.threads), 0)::bigint AS capacity
  FROM schedulers s
  WHERE '*' = ANY (s.names) OR (c.queue = ANY (s.names)) <> s.except
) AS pool
