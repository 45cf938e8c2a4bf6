-- Que writes the version of its migrations as a comment on the table. The table's row type names it without a text that a
-- schema's name would have to be quoted for.
SELECT CASE WHEN m.version ~ '^[0-9]{1,9}$' THEN m.version::bigint END
FROM pg_class c, LATERAL (SELECT obj_description(c.oid, 'pg_class') AS version) AS m
WHERE c.reltype = pg_typeof(NULL::{schema}que_jobs)::oid
