-- GoodJob's tables that a job passes through, its settings and its registry of processes, as its migrations up to 4.0 have
-- them. Written by hand from the documented migrations; Rails' datetime is timestamp(6) in UTC.
CREATE TABLE good_jobs (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), queue_name text, priority integer, serialized_params jsonb,
  scheduled_at timestamp(6), performed_at timestamp(6), finished_at timestamp(6), error text,
  created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL, active_job_id uuid, concurrency_key text,
  cron_key text, retried_good_job_id uuid, cron_at timestamp(6), batch_id uuid, batch_callback_id uuid,
  is_discrete boolean, executions_count integer, job_class text, error_event smallint, labels text[],
  locked_by_id uuid, locked_at timestamp(6)
);
CREATE INDEX index_good_jobs_on_scheduled_at ON good_jobs (scheduled_at) WHERE finished_at IS NULL;
CREATE INDEX index_good_jobs_on_queue_name_and_scheduled_at ON good_jobs (queue_name, scheduled_at) WHERE finished_at IS NULL;
CREATE INDEX index_good_jobs_on_active_job_id_and_created_at ON good_jobs (active_job_id, created_at);
CREATE INDEX index_good_jobs_jobs_on_finished_at ON good_jobs (finished_at)
  WHERE retried_good_job_id IS NULL AND finished_at IS NOT NULL;
CREATE INDEX index_good_jobs_jobs_on_priority_created_at_when_unfinished ON good_jobs (priority DESC NULLS LAST, created_at)
  WHERE finished_at IS NULL;
CREATE INDEX index_good_job_jobs_for_candidate_lookup ON good_jobs (priority, created_at) WHERE finished_at IS NULL;
CREATE INDEX index_good_jobs_on_labels ON good_jobs USING gin (labels) WHERE labels IS NOT NULL;
CREATE INDEX index_good_jobs_on_priority_scheduled_at_unfinished_unlocked ON good_jobs (priority, scheduled_at)
  WHERE finished_at IS NULL AND locked_by_id IS NULL;
CREATE INDEX index_good_jobs_on_locked_by_id ON good_jobs (locked_by_id) WHERE locked_by_id IS NOT NULL;

CREATE TABLE good_job_processes (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL,
  state jsonb, lock_type smallint
);

CREATE TABLE good_job_settings (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL,
  key text, value jsonb
);
CREATE UNIQUE INDEX index_good_job_settings_on_key ON good_job_settings (key);
