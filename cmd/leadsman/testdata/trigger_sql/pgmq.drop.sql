-- Takes away the armed bell of leadsman for pgmq, with its triggers. leadsman goes on without it.
-- It waits for transactions that use the tables, and holds up others for a moment. It gives up after 5 seconds.
BEGIN;
SET LOCAL lock_timeout = '5s';
-- Nothing but its triggers depends on the function.
DROP FUNCTION IF EXISTS "pgmq"."leadsman_bell_pgmq"() CASCADE;
COMMIT;
