// Package river is the preset for River (https://riverqueue.com), a job queue for Go on PostgreSQL and SQLite.
// README.md says what is read and what counts.
package river

import (
	_ "embed" // for the queries
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed postgres_activity.sql
var postgresActivity string

// Preset is River as its version 0.51 lays it out: migrations 4 to 8 of its line main.
var Preset = driver.Preset{
	Name:     "river",
	Postgres: &postgres,
	SQLite:   &sqlite,
}

var postgres = driver.SQL{
	Query:    postgresQuery,
	Activity: postgresActivity,
	// A job that has been running for longer belongs to a worker that died: only a live worker rescues it.
	RunningMaxAge: 24 * time.Hour,
	Listen: &driver.Listen{
		// river_insert comes with inserts and promotions, river_control when a queue is paused or resumed. Both
		// name the queue alike.
		Channels: []string{"{schema}.river_insert", "{schema}.river_control"},
		Payload:  "queue",
		// A client announces the first insert of a queue in 100 ms (FetchCooldown), and loses even that if the
		// transaction rolls back. So look again twice, the second time when the client would have spoken anew.
		Echo: []time.Duration{50 * time.Millisecond, 110 * time.Millisecond},
	},
	// For what River's Go client does not announce: plain SQL, and clients in other languages.
	Bell: &driver.Bell{
		Preset: "river",
		Queue:  "NEW.queue",
		Tables: []driver.BellTable{{
			Name:   "river_job",
			Insert: "NEW.state IN ('available', 'scheduled', 'retryable')",
			Update: "NEW.state IN ('available', 'scheduled', 'retryable') AND (OLD.state NOT IN ('available', 'scheduled', 'retryable')" +
				" OR NEW.scheduled_at < OLD.scheduled_at OR NEW.queue <> OLD.queue)",
		}},
	},
}
