-- Active Record's timestamps are in UTC and without zone (1) unless the application asks it for such with a zone (2).
-- Reading the catalogs needs no permission on the table.
SELECT CASE
    WHEN count(DISTINCT a.atttypid) > 1 THEN 0
    WHEN bool_or(a.atttypid = 'timestamptz'::regtype) THEN 2
    ELSE 1
  END AS version
FROM pg_type y
LEFT JOIN pg_attribute a ON a.attrelid = y.typrelid AND a.attname IN ('run_at', 'locked_at', 'failed_at') AND NOT a.attisdropped
WHERE y.oid = pg_typeof(NULL::{schema}delayed_jobs)
