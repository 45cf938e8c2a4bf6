// Package goodjob is the preset for GoodJob (https://github.com/bensheldon/good_job), an Active Job backend for Rails on
// PostgreSQL. README.md says what is read and what counts.
package goodjob

import (
	_ "embed" // for the query

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

// Preset is GoodJob as its versions 4.0 to 4.19 lay it out. It keeps no version in the database: what the query misses is
// an error that names it.
var Preset = driver.Preset{Name: "good_job", Postgres: &postgres}

var postgres = driver.SQL{
	Query: postgresQuery,
	Listen: &driver.Listen{
		// One for all schemas of a database. It comes with each enqueue, also of jobs for later, but for those that the
		// enqueuing process runs itself.
		Channels: []string{"good_job"},
		Payload:  "queue_name",
	},
	// GoodJob announces from the application, which can be told not to, and does not hear of plain SQL.
	Bell: &driver.Bell{
		Preset: "good_job",
		Queue:  "NEW.queue_name",
		Tables: []driver.BellTable{{
			Name:   "good_jobs",
			Insert: "NEW.finished_at IS NULL",
			Update: "NEW.finished_at IS NULL AND (OLD.finished_at IS NOT NULL OR NEW.scheduled_at < OLD.scheduled_at" +
				" OR NEW.performed_at IS NULL AND OLD.performed_at IS NOT NULL OR NEW.queue_name IS DISTINCT FROM OLD.queue_name)",
		}},
		Silent: "A job whose worker died does not ring, nor does a queue that is resumed.",
	},
}
