-- Each queue has a table of its own, whose name is data. So each queue is read by a statement that is made here, with
-- its identifiers quoted by format's %I, and run by query_to_xml, as part of this one and in its snapshot. Its one column is
-- JSON of numbers and nothing else, which XML leaves as it is.
--
-- A message is visible once vt has passed: sent and not read yet, or read and given up on by its reader. Until then it is
-- in flight if it has been read, and delayed if not. Each look is a probe of the index by vt, and each count is bounded.
WITH wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset($1::jsonb) AS w(queue text, lookahead float8)
),
targets AS MATERIALIZED (
  SELECT w.queue, w.lookahead FROM wants w WHERE w.queue IS NOT NULL
  UNION
  SELECT m.queue_name, w.lookahead FROM wants w CROSS JOIN "My ""Queues""".meta m WHERE w.queue IS NULL
),
statements AS MATERIALIZED (
  SELECT t.queue, t.lookahead, format($statement$
    SELECT json_build_object(
      'ready', (SELECT count(*) FROM (SELECT FROM (
          (SELECT FROM %1$I.%2$I q WHERE q.vt <= now ORDER BY q.vt LIMIT %4$s)
          UNION ALL
          (SELECT FROM %1$I.%2$I q WHERE q.vt > now AND q.vt <= horizon AND q.read_ct = 0 ORDER BY q.vt LIMIT %4$s)
        ) AS looks LIMIT %4$s) AS bounded),
      'running', (SELECT count(*) FROM (
          SELECT FROM %1$I.%2$I q WHERE q.vt > now AND q.read_ct > 0 ORDER BY q.vt LIMIT %4$s) AS bounded),
      'scheduled', (SELECT count(*) FROM (
          SELECT FROM %1$I.%2$I q WHERE q.vt > horizon AND q.read_ct = 0 ORDER BY q.vt LIMIT %4$s) AS bounded),
      'oldest', extract(epoch FROM now - (SELECT q.vt FROM %1$I.%2$I q WHERE q.vt <= now ORDER BY q.vt LIMIT 1)),
      'next', extract(epoch FROM (
          SELECT q.vt FROM %1$I.%2$I q WHERE q.vt > horizon AND q.read_ct = 0 ORDER BY q.vt LIMIT 1) - now)
    ) AS j
    FROM (SELECT statement_timestamp() AS now, statement_timestamp() + %3$L::float8 * interval '1 second' AS horizon) AS clock
    $statement$,
    n.nspname, lower('q_' || m.queue_name), t.lookahead, coalesce((nullif($2::bigint, 0) + 1)::text, 'ALL')) AS text
  FROM targets t
  JOIN "My ""Queues""".meta m ON m.queue_name = t.queue
  JOIN pg_catalog.pg_class c ON c.oid = m.tableoid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
),
counts AS MATERIALIZED (
  SELECT s.queue, s.lookahead, r.*
  FROM statements s
  CROSS JOIN LATERAL (SELECT substring(query_to_xml(s.text, false, true, '')::text FROM '<j>(.*)</j>')::json AS j) AS x
  CROSS JOIN LATERAL json_to_record(x.j) AS r(ready bigint, running bigint, scheduled bigint, oldest float8, next float8)
)
SELECT t.queue, t.lookahead,
  c.queue IS NOT NULL AS known,
  least(coalesce(c.ready, 0), nullif($2::bigint, 0)) AS ready,
  least(coalesce(c.running, 0), nullif($2::bigint, 0)) AS running,
  least(coalesce(c.scheduled, 0), nullif($2::bigint, 0)) AS scheduled,
  greatest(c.ready, c.running, c.scheduled) > nullif($2::bigint, 0) AS saturated,
  c.oldest AS oldest_seconds,
  c.next AS next_due_seconds
FROM targets t
LEFT JOIN counts c ON c.queue = t.queue AND c.lookahead = t.lookahead
