-- Que's tables as its migrations 1 to 4 leave them, with the trigger that announces changes of state. Written by hand from
-- the documented migrations; limits on the length of texts are left out.
CREATE TABLE que_jobs (
  priority smallint NOT NULL DEFAULT 100, run_at timestamptz NOT NULL DEFAULT now(), id bigserial PRIMARY KEY,
  job_class text NOT NULL, error_count integer NOT NULL DEFAULT 0, last_error_message text,
  queue text NOT NULL DEFAULT 'default' CHECK (char_length(queue) <= 100), last_error_backtrace text,
  finished_at timestamptz, expired_at timestamptz, args jsonb NOT NULL DEFAULT '[]', data jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX que_poll_idx ON que_jobs (queue, priority, run_at, id) WHERE finished_at IS NULL AND expired_at IS NULL;
CREATE INDEX que_jobs_data_gin_idx ON que_jobs USING gin (data jsonb_path_ops);
CREATE INDEX que_jobs_args_gin_idx ON que_jobs USING gin (args jsonb_path_ops);

CREATE UNLOGGED TABLE que_lockers (
  pid integer PRIMARY KEY, worker_count integer NOT NULL, worker_priorities integer[] NOT NULL, ruby_pid integer NOT NULL,
  ruby_hostname text NOT NULL, queues text[] NOT NULL, listening boolean NOT NULL
);

CREATE FUNCTION que_state_of(job que_jobs) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN job.expired_at IS NOT NULL THEN 'expired' WHEN job.finished_at IS NOT NULL THEN 'finished'
              WHEN job.error_count > 0 THEN 'errored' WHEN job.run_at > now() THEN 'scheduled' ELSE 'ready' END
$$;

CREATE FUNCTION que_state_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  job record := coalesce(NEW, OLD);
  before text := 'nonexistent';
  after text := 'nonexistent';
BEGIN
  IF TG_OP <> 'INSERT' THEN before := que_state_of(OLD); END IF;
  IF TG_OP <> 'DELETE' THEN after := que_state_of(NEW); END IF;
  IF before <> after THEN
    PERFORM pg_notify('que_state', json_build_object(
      'message_type', 'job_change', 'id', job.id, 'queue', job.queue, 'tags', '[]'::json, 'run_at', job.run_at,
      'time', now(), 'job_class', job.job_class, 'previous_state', before, 'current_state', after)::text);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER que_state_notify AFTER INSERT OR UPDATE OR DELETE ON que_jobs
  FOR EACH ROW EXECUTE FUNCTION que_state_notify();

COMMENT ON TABLE que_jobs IS '4';
