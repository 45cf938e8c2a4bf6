// Package flexiq is the preset for FlexiQ (https://github.com/ByteVeda/flexiq), a task queue for several languages with a
// core in Rust, on PostgreSQL, SQLite and Redis. README.md says what is read and what counts.
package flexiq

import (
	_ "embed" // for the queries
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed sqlite.sql
var sqliteQuery string

// runningMaxAge is for jobs without a claim, whose worker nobody knows; the others go by their worker's heartbeat.
const runningMaxAge = 24 * time.Hour

// Preset is FlexiQ from its migration 0021 on, which gave workers a namespace; 0027 is the newest that is known.
var Preset = driver.Preset{
	Name: "flexiq",
	// FlexiQ's own listener on PostgreSQL is a timer: nothing is announced.
	Postgres: &driver.SQL{Query: postgresQuery, Schema: "flexiq", RunningMaxAge: runningMaxAge, Bell: &bell},
	SQLite:   &driver.SQL{Query: sqliteQuery, RunningMaxAge: runningMaxAge},
	Redis:    &onRedis,
}

// bell rings for new jobs and for retries, by the name that the query gives the job's lane.
var bell = driver.Bell{
	Preset: "flexiq",
	Queue:  "coalesce(NEW.namespace || '/', '') || NEW.queue",
	Tables: []driver.BellTable{{
		Name:   "jobs",
		Insert: "NEW.status = 0",
		Update: "NEW.status = 0 AND (OLD.status <> 0 OR NEW.scheduled_at < OLD.scheduled_at OR NEW.queue <> OLD.queue)",
	}},
	Silent: "A job whose last dependency is done does not ring, nor does a queue that is resumed.",
}
