-- The armed bell of leadsman for good_job, version 1.
--
-- What it is: a trigger that announces new jobs by NOTIFY, but only while leadsman waits for one. Waiting, leadsman
-- holds shared advisory locks. The trigger tries to take the same lock for itself; if it can, nobody waits, and it
-- gives the lock back at once and says nothing. So commits of jobs do not stand in line for the lock that PostgreSQL
-- takes at each commit with a NOTIFY, as they do with a trigger that always announces.
--
-- What it costs: while nobody waits, some ten microseconds for each INSERT and half a microsecond for each of its jobs. leadsman
-- lets go of its locks as soon as the bell has rung, and waits again after a second at the earliest, so that a busy queue
-- rings once a second. It hears the bell at the commit: a bulk load that began while leadsman waited pays some two
-- microseconds for each job.
--
-- What to know before you run it, as the owner of the tables:
--  * CREATE TRIGGER waits for transactions that write to the table, and holds up writers for a moment. It gives up
--    after 5 seconds; then run it again.
--  * Where rows come by logical replication, the trigger fires only after
--    ALTER TABLE … ENABLE ALWAYS TRIGGER leadsman_bell_insert (and the same for leadsman_bell_update, if there is one).
--  * A transaction that has rung cannot be prepared (PREPARE TRANSACTION fails after a NOTIFY). Where jobs are inserted in
--    two phases, say SET LOCAL bell.mute = on before the insert, and NOTIFY leadsman_bell_good_job_0193af9b after COMMIT PREPARED.
--  * PostgreSQL refuses to drop columns that the triggers name, and to change their types. Take the bell away before such a
--    migration, and install it again after it.
--  * A job whose worker died does not ring, nor does a queue that is resumed. leadsman's slow poll finds that.
--
-- leadsman needs no privilege for it, and finds it within half a minute. Running this again does no harm. It is taken away
-- by: leadsman trigger-sql good_job --schema public --drop
BEGIN;
SET LOCAL lock_timeout = '5s';

-- Names are qualified, operators too, so that no search_path can bend them.
CREATE OR REPLACE FUNCTION "public"."leadsman_bell_good_job"() RETURNS trigger LANGUAGE plpgsql AS $bell$
DECLARE
  -- A bucket, by the queue, and a stripe, by the inserting process. 64 buckets bound the locks of a reader, whatever queues
  -- there are. 8 stripes keep inserters apart: two that tried the same lock at once would take each other for a reader.
  key CONSTANT pg_catalog.int4 :=
    (pg_catalog.hashtext(coalesce((NEW.queue_name)::pg_catalog.text, '')) OPERATOR(pg_catalog.&) 63)
    OPERATOR(pg_catalog.+) (64 OPERATOR(pg_catalog.*) (pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.&) 7));
  rung pg_catalog.text;
BEGIN
  -- Taken and given back within one expression: nothing can interrupt it in between and leave the lock behind.
  IF pg_catalog.pg_try_advisory_lock(26455963, key) AND pg_catalog.pg_advisory_unlock(26455963, key) THEN
    RETURN NULL;
  END IF;
  -- Rung already: one notification tells of all that the transaction does. Both are undone with a savepoint.
  rung := pg_catalog.concat(26455963, '.', key);
  IF pg_catalog.current_setting('bell.rung', true) OPERATOR(pg_catalog.=) rung THEN
    RETURN NULL;
  END IF;
  -- Once more, because the first may have met another inserter.
  IF NOT (pg_catalog.pg_try_advisory_lock(26455963, key) AND pg_catalog.pg_advisory_unlock(26455963, key))
    AND pg_catalog.current_setting('bell.mute', true) IS DISTINCT FROM 'on'
  THEN
    PERFORM pg_catalog.pg_notify('leadsman_bell_good_job_0193af9b', (key OPERATOR(pg_catalog.&) 63)::pg_catalog.text),
      pg_catalog.set_config('bell.rung', rung, true);
  END IF;
  RETURN NULL;
END
$bell$;

-- By this leadsman knows the bell.
COMMENT ON FUNCTION "public"."leadsman_bell_good_job"() IS 'leadsman bell 1, class 26455963, channel leadsman_bell_good_job_0193af9b: made by leadsman trigger-sql good_job';

-- After the row, when its transaction has an id: by that leadsman knows whom it still has to wait for. For each row, and not
-- once for the statement, because partitions, and rows that come by logical replication, fire for rows only.
--
-- The condition of the insert's trigger has the first try, of the first stripe's lock: whoever waits holds all stripes, so if
-- it can be had, nobody waits, and the function need not be called. In a condition a try costs a fraction of the call. What
-- the condition cannot tell (somebody waits, another inserter tries at this moment, the queue is NULL) the function does.
CREATE OR REPLACE TRIGGER leadsman_bell_insert AFTER INSERT ON "public"."good_jobs" FOR EACH ROW
  WHEN ((NEW.finished_at IS NULL) AND (
    pg_catalog.pg_try_advisory_lock(26455963, pg_catalog.hashtext((NEW.queue_name)::pg_catalog.text) OPERATOR(pg_catalog.&) 63)
    AND pg_catalog.pg_advisory_unlock(26455963, pg_catalog.hashtext((NEW.queue_name)::pg_catalog.text) OPERATOR(pg_catalog.&) 63)) IS NOT TRUE)
  EXECUTE FUNCTION "public"."leadsman_bell_good_job"();
-- What becomes runnable by an update, such as a job that is to be tried again. Most updates are none of that, so here the
-- condition is short, and the function does the rest.
CREATE OR REPLACE TRIGGER leadsman_bell_update AFTER UPDATE ON "public"."good_jobs" FOR EACH ROW
  WHEN (NEW.finished_at IS NULL AND (OLD.finished_at IS NOT NULL OR NEW.scheduled_at < OLD.scheduled_at OR NEW.performed_at IS NULL AND OLD.performed_at IS NOT NULL OR NEW.queue_name IS DISTINCT FROM OLD.queue_name))
  EXECUTE FUNCTION "public"."leadsman_bell_good_job"();

COMMIT;
