-- One pass over the tasks that are under way, by Airflow's index on state; the millions that are done are not touched.
-- How many are under way is bounded by Airflow's parallelism and its limits on active tasks, not by its history.
--
-- Tasks of another executor are left out: the Kubernetes one makes a pod for each, and the local one runs them in the
-- scheduler. An executor is stored as it was written, by its name or by the path of its class. Those that the hybrid
-- executors of Airflow 2 send to Kubernetes are told by their queue; a trigger that names it gets them all the same.
WITH wants AS MATERIALIZED (
  SELECT w.queue, coalesce(w.lookahead, 0) AS lookahead
  FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text, lookahead float8)
),
counts AS (
  SELECT live.queue,
    count(*) FILTER (WHERE live.state = 'queued') AS ready,
    count(*) FILTER (WHERE live.state IN ('up_for_retry', 'up_for_reschedule')) AS scheduled,
    count(*) FILTER (
      WHERE live.state IN ('running', 'restarting')
        AND live.alive > statement_timestamp() - @running_max_age::float8 * interval '1 second'
    ) AS running,
    min(live.queued_dttm) FILTER (WHERE live.state = 'queued') AS oldest
  FROM (
    SELECT coalesce(nullif(t.queue, ''), 'default') AS queue, t.state, t.queued_dttm, t.start_date AS alive
    FROM {schema}task_instance t
    WHERE t.state IN ('queued', 'running', 'restarting', 'up_for_retry', 'up_for_reschedule')
      AND coalesce(NULL::text, '') !~ '(^|[.:])(Kubernetes|Local|Sequential)Executor$'
  ) AS live
  WHERE live.queue IN (SELECT w.queue FROM wants w) OR EXISTS (SELECT FROM wants w WHERE w.queue IS NULL)
  GROUP BY live.queue
)
SELECT DISTINCT c.queue, w.lookahead,
  least(c.ready, nullif(@limit::bigint, 0)) AS ready,
  least(c.scheduled, nullif(@limit::bigint, 0)) AS scheduled,
  least(c.running, nullif(@limit::bigint, 0)) AS running,
  greatest(c.ready, c.scheduled, c.running) > nullif(@limit::bigint, 0) AS saturated,
  greatest(0, extract(epoch FROM statement_timestamp() - c.oldest))::float8 AS oldest_seconds
FROM counts c
JOIN wants w ON w.queue = c.queue OR w.queue IS NULL AND c.queue <> 'kubernetes'
