-- Procrastinate keeps no version of its schema, so its tables tell which it is: 3 where queues can be paused (3.10),
-- 2 where jobs name their worker (3.0 to 3.9), 1 before that. The table's row type names it without a text that a
-- schema's name would have to be quoted for.
SELECT CASE
  WHEN EXISTS (SELECT FROM pg_class p WHERE p.relname = 'procrastinate_paused_queues' AND p.relnamespace = c.relnamespace) THEN 3
  WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'worker_id' AND NOT a.attisdropped) THEN 2
  ELSE 1
END
FROM pg_class c
WHERE c.reltype = pg_typeof(NULL::{schema}procrastinate_jobs)::oid
