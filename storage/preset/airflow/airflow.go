// Package airflow is the preset for Apache Airflow (https://airflow.apache.org) with Celery or Edge workers: its task
// instances in PostgreSQL, where the scheduler keeps them whatever broker carries them to the workers. README.md says
// what is read and what counts.
package airflow

import (
	_ "embed" // for the queries
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed version.sql
var versionQuery string

// Preset is Airflow 2 and 3. The versions are Airflow's own, 210 for 2.10, as far as the columns tell them apart.
var Preset = driver.Preset{
	Name: "airflow",
	Postgres: &driver.SQL{
		Version: versionQuery,
		Layouts: []driver.Layout{
			{From: 200, To: 209, Query: query("NULL::text", "t.start_date")},
			{From: 210, To: 299, Query: query("t.executor", "t.start_date")},
			{From: 300, To: 399, Query: query("t.executor", "coalesce(t.last_heartbeat_at, t.start_date)")},
		},
		// Airflow's scheduler fails tasks whose heartbeat has stopped, and it runs whether workers do or not. This is
		// for what it leaves behind, and longer than tasks take.
		RunningMaxAge: 7 * 24 * time.Hour,
		Bell: &driver.Bell{
			Preset: "airflow",
			Queue:  "coalesce(nullif(NEW.queue, ''), 'default')",
			Tables: []driver.BellTable{{
				Name:   "task_instance",
				Insert: "NEW.state = 'queued'",
				Update: "NEW.state = 'queued' AND OLD.state IS DISTINCT FROM 'queued'",
			}},
		},
	},
}

// query is the query for tables where these expressions tell a task's executor and when it was last seen alive.
func query(executor, alive string) string {
	return strings.NewReplacer("{executor}", executor, "{alive}", alive).Replace(postgresQuery)
}
