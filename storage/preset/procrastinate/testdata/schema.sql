-- The tables of Procrastinate 3.9 as far as jobs pass through them, written by hand after its documented migrations.
CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborting', 'aborted');
CREATE TYPE procrastinate_job_event_type AS ENUM (
  'deferred', 'started', 'deferred_for_retry', 'failed', 'succeeded', 'cancelled', 'abort_requested', 'aborted', 'scheduled');

CREATE TABLE procrastinate_workers (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  last_heartbeat timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON procrastinate_workers (last_heartbeat);

CREATE TABLE procrastinate_jobs (
  id bigserial PRIMARY KEY,
  queue_name varchar(128) NOT NULL,
  task_name varchar(128) NOT NULL,
  priority int NOT NULL DEFAULT 0,
  lock text,
  queueing_lock text,
  args jsonb NOT NULL DEFAULT '{}',
  status procrastinate_job_status NOT NULL DEFAULT 'todo',
  scheduled_at timestamptz,
  attempts int NOT NULL DEFAULT 0,
  abort_requested boolean NOT NULL DEFAULT false,
  worker_id bigint REFERENCES procrastinate_workers ON DELETE SET NULL,
  CHECK (NOT (status = 'todo' AND abort_requested))
);
CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON procrastinate_jobs (queueing_lock) WHERE status = 'todo';
CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON procrastinate_jobs (lock) WHERE status = 'doing';
CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON procrastinate_jobs (queue_name);
CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON procrastinate_jobs (id, lock) WHERE status IN ('todo', 'doing');
CREATE INDEX procrastinate_jobs_priority_idx_v1 ON procrastinate_jobs (priority DESC, id) WHERE status = 'todo';
CREATE INDEX procrastinate_jobs_worker_id_idx ON procrastinate_jobs (worker_id);

CREATE TABLE procrastinate_events (
  id bigserial PRIMARY KEY,
  job_id bigint NOT NULL REFERENCES procrastinate_jobs ON DELETE CASCADE,
  type procrastinate_job_event_type,
  at timestamptz DEFAULT now()
);
CREATE INDEX procrastinate_events_job_id_fkey_v1 ON procrastinate_events (job_id);

-- Each new job is announced twice and written into the log.
CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  message text := jsonb_build_object('type', 'job_inserted', 'job_id', NEW.id);
BEGIN
  INSERT INTO procrastinate_events (job_id, type) VALUES (NEW.id, 'deferred');
  PERFORM pg_notify(left('procrastinate_queue_v1#' || NEW.queue_name, 30), message), pg_notify('procrastinate_any_queue_v1', message);
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER INSERT ON procrastinate_jobs FOR EACH ROW WHEN (NEW.status = 'todo') EXECUTE FUNCTION announce();
