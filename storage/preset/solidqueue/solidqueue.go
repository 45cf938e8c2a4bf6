// Package solidqueue is the preset for Solid Queue (https://github.com/rails/solid_queue), the Active Job backend of Rails 8,
// on PostgreSQL and SQLite. README.md says what is read and what counts.
package solidqueue

import (
	_ "embed" // for the queries

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed sqlite.sql
var sqliteQuery string

// Preset is Solid Queue as its versions 0.6 to 1.5 lay it out. It keeps no version in the database: what the query misses
// is an error that names it.
var Preset = driver.Preset{
	Name:     "solid_queue",
	Postgres: &driver.SQL{Query: postgresQuery, Bell: &bell}, // it announces nothing
	SQLite:   &driver.SQL{Query: sqliteQuery},
}

// bell rings when a job enters the table of those that can be run, whichever way it comes, or that of those for later.
var bell = driver.Bell{
	Preset: "solid_queue",
	Queue:  "NEW.queue_name",
	Tables: []driver.BellTable{
		{Name: "solid_queue_ready_executions"},
		{Name: "solid_queue_scheduled_executions", Update: "NEW.scheduled_at < OLD.scheduled_at"},
	},
	Silent: "A queue that is resumed does not ring.",
}
