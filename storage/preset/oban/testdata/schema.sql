-- Oban's tables as its migrations 1 to 9 leave them, in the parts that jobs pass through. Written by hand from the
-- documented migrations.
CREATE TYPE oban_job_state AS ENUM
  ('available', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled');
CREATE TABLE oban_jobs (
  id bigserial PRIMARY KEY,
  state oban_job_state NOT NULL DEFAULT 'available',
  queue text NOT NULL DEFAULT 'default' CHECK (char_length(queue) BETWEEN 1 AND 127),
  worker text NOT NULL CHECK (char_length(worker) BETWEEN 1 AND 127),
  args jsonb NOT NULL DEFAULT '{}',
  meta jsonb DEFAULT '{}',
  tags text[] DEFAULT '{}',
  errors jsonb[] NOT NULL DEFAULT '{}',
  attempt integer NOT NULL DEFAULT 0,
  max_attempts integer NOT NULL DEFAULT 20,
  priority integer DEFAULT 0,
  attempted_by text[],
  inserted_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
  scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
  attempted_at timestamp,
  completed_at timestamp,
  discarded_at timestamp,
  cancelled_at timestamp
);
CREATE INDEX oban_jobs_state_queue_priority_scheduled_at_id_index
  ON oban_jobs (state, queue, priority, scheduled_at, id);
COMMENT ON TABLE oban_jobs IS '9';
