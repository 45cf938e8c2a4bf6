// Package graphileworker is the preset for Graphile Worker (https://worker.graphile.org), a job queue for Node.js on
// PostgreSQL. README.md says what is read and what counts.
package graphileworker

import (
	_ "embed" // for the query
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var query string

// Preset is Graphile Worker as its versions 0.16 to 0.18 lay it out. A queue is what it calls a task identifier.
var Preset = driver.Preset{
	Name: "graphile_worker",
	Postgres: &driver.SQL{
		// Migrations are numbered without gaps.
		Version: "SELECT max(id) FROM {schema}migrations",
		Layouts: []driver.Layout{
			// 17 brought the view that is read; none since then has changed what it shows.
			{From: 17, To: 20, Query: query},
		},
		Schema: "graphile_worker",
		// Graphile Worker itself takes a lock for left behind after this time.
		RunningMaxAge: 4 * time.Hour,
		Listen: &driver.Listen{
			// The same in every schema, and it does not say which task the job is for.
			Channels: []string{"jobs:insert"},
			Payload:  driver.PayloadNone,
		},
	},
}
