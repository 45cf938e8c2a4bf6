-- What the migrations from 4.0 to 4.19 add to what jobs pass through.
ALTER TABLE good_jobs ADD lock_type smallint;
CREATE INDEX index_good_jobs_for_candidate_dequeue_unlocked ON good_jobs (priority, scheduled_at, id)
  WHERE finished_at IS NULL AND locked_by_id IS NULL;
CREATE INDEX index_good_jobs_on_priority_scheduled_at_unfinished ON good_jobs (priority, scheduled_at, id)
  WHERE finished_at IS NULL;
CREATE INDEX index_good_jobs_on_queue_name ON good_jobs (queue_name);
CREATE INDEX index_good_jobs_on_created_at ON good_jobs (created_at);
CREATE INDEX index_good_jobs_on_discarded ON good_jobs (finished_at DESC) WHERE finished_at IS NOT NULL AND error IS NOT NULL;
CREATE INDEX index_good_jobs_on_scheduled_at_and_queue_name ON good_jobs (scheduled_at, queue_name);
CREATE INDEX index_good_jobs_on_unfinished_or_errored ON good_jobs (id) WHERE finished_at IS NULL OR error IS NOT NULL;
