// Package oban is the preset for Oban (https://oban.pro), a job queue for Elixir and Python on PostgreSQL. README.md says
// what is read and what counts.
package oban

import (
	_ "embed" // for the queries
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed version.sql
var versionQuery string

// Preset is Oban as its versions 2.0 to 2.23 lay it out.
var Preset = driver.Preset{Name: "oban", Postgres: &postgres}

var postgres = driver.SQL{
	Version: versionQuery,
	// 9 brought the state cancelled; the index that everything here is a probe of is from 8. What came later (constraints,
	// other indexes, the state suspended in 14) changes nothing that is read.
	Layouts: []driver.Layout{{From: 9, To: 14, Query: postgresQuery}},
	Schema:  "public", // Oban's own default for its prefix
	// A job that has been running for longer belongs to a node that died: only Oban's Lifeline, in a live one, rescues it.
	RunningMaxAge: 24 * time.Hour,
	Listen: &driver.Listen{
		// Comes with inserts of available jobs, for each queue once per call, and with what the stager makes available.
		Channels: []string{"{schema}.oban_insert"},
		Payload:  "queue",
	},
	// Oban announces from the application, which does not with insert_trigger: false or another notifier, and does not
	// hear of plain SQL.
	Bell: &driver.Bell{
		Preset: "oban",
		Queue:  "NEW.queue",
		Tables: []driver.BellTable{{
			Name:   "oban_jobs",
			Insert: "NEW.state IN ('available', 'scheduled', 'retryable')",
			Update: "NEW.state IN ('available', 'scheduled', 'retryable') AND (OLD.state NOT IN ('available', 'scheduled', 'retryable')" +
				" OR NEW.scheduled_at < OLD.scheduled_at OR NEW.queue <> OLD.queue)",
		}},
	},
}
