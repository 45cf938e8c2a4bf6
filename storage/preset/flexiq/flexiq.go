// Package flexiq is the preset for FlexiQ (https://github.com/ByteVeda/flexiq), a task queue for several languages with a
// core in Rust, on PostgreSQL and SQLite. README.md says what is read and what counts.
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
	Postgres: &driver.SQL{Query: postgresQuery, Schema: "flexiq", RunningMaxAge: runningMaxAge},
	SQLite:   &driver.SQL{Query: sqliteQuery, RunningMaxAge: runningMaxAge},
}
