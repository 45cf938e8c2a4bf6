-- Que writes the version of its migrations as a comment on the table. The table's row type names it without a text that a
-- schema's name would have to be quoted for.
SELECT obj_description(c.oid, 'pg_class')::bigint FROM pg_class c WHERE c.reltype = pg_typeof(NULL::{schema}que_jobs)::oid
