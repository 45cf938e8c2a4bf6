-- Oban writes the version of its migrations as a comment on the table; "∞" there means that somebody else looks after
-- them. Oban for Python writes none, and is known by a table that it has beside. The table's row type names it without
-- a text that a schema's name would have to be quoted for.
SELECT CASE
  WHEN m.version = '∞' THEN 14
  WHEN m.version ~ '^[0-9]{1,9}$' THEN m.version::bigint
  WHEN EXISTS (SELECT FROM pg_class p WHERE p.relname = 'oban_producers' AND p.relnamespace = c.relnamespace) THEN 14
END
FROM pg_class c, LATERAL (SELECT obj_description(c.oid, 'pg_class') AS version) AS m
WHERE c.reltype = pg_typeof(NULL::{schema}oban_jobs)::oid
