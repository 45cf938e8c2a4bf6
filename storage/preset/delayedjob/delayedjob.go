// Package delayedjob is the preset for Delayed Job (https://github.com/collectiveidea/delayed_job), a job queue for Ruby
// on PostgreSQL and SQLite through Active Record. README.md says what is read and what counts.
package delayedjob

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

//go:embed sqlite.sql
var sqliteQuery string

// NoQueue is the name under which jobs without a queue are counted. Workers that are told to work queues, even one
// called "default", leave such jobs alone, so they must not be taken for jobs of any queue that has a name.
const NoQueue = "(none)"

// maxRunTime is Delayed::Worker.max_run_time as it is unless an application sets it: a job that has been locked for
// longer is free for the next worker.
const maxRunTime = 4 * time.Hour

// Preset is Delayed Job since its version 3, which brought named queues; nothing that is read has changed since. The
// versions are of the type of its times, which is up to the application.
var Preset = driver.Preset{
	Name: "delayed_job",
	Postgres: &driver.SQL{
		Version: versionQuery,
		Layouts: []driver.Layout{
			{From: 1, To: 1, Query: query("statement_timestamp() AT TIME ZONE 'utc'")},
			{From: 2, To: 2, Query: query("statement_timestamp()")},
		},
		RunningMaxAge: maxRunTime,
		Bell:          &bell,
	},
	SQLite: &driver.SQL{Query: sqliteQuery, RunningMaxAge: maxRunTime},
}

// query is the query for times of the type of now.
func query(now string) string { return strings.ReplaceAll(postgresQuery, "{now}", now) }

// bell rings for new jobs, and for those that a worker gives back to be tried again.
var bell = driver.Bell{
	Preset: "delayed_job",
	Queue:  "coalesce(nullif(NEW.queue, ''), '" + NoQueue + "')",
	Tables: []driver.BellTable{{
		Name:   "delayed_jobs",
		Insert: "NEW.failed_at IS NULL",
		Update: "NEW.failed_at IS NULL AND NEW.locked_at IS NULL AND (OLD.failed_at IS NOT NULL OR OLD.locked_at IS NOT NULL" +
			" OR NEW.run_at < OLD.run_at OR NEW.queue IS DISTINCT FROM OLD.queue)",
	}},
	Silent: "A lock that expires does not ring.",
}
