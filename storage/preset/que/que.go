// Package que is the preset for Que (https://github.com/que-rb/que), a job queue for Ruby on PostgreSQL. README.md says what
// is read and what counts.
package que

import (
	_ "embed" // for the queries
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed version.sql
var versionQuery string

// Preset is Que as its versions 1.0 to 2.4 lay it out.
var Preset = driver.Preset{Name: "que", Postgres: &postgres}

var postgres = driver.SQL{
	Version: versionQuery,
	Layouts: []driver.Layout{
		{From: 4, To: 5, Query: layout("versions AS (SELECT 1 AS version)", "")},
		{From: 6, To: 7, Query: layout(`-- The versions of jobs, by hopping from one to the next.
versions AS (
  SELECT (SELECT j.job_schema_version FROM {schema}que_jobs j
          WHERE j.finished_at IS NULL AND j.expired_at IS NULL
          ORDER BY j.job_schema_version, j.queue LIMIT 1) AS version
  UNION ALL
  SELECT (SELECT j.job_schema_version FROM {schema}que_jobs j
          WHERE j.job_schema_version > v.version AND j.finished_at IS NULL AND j.expired_at IS NULL
          ORDER BY j.job_schema_version, j.queue LIMIT 1)
  FROM versions v
  WHERE v.version IS NOT NULL
)`, "j.job_schema_version = p.version AND")},
	},
	Schema: "public", // Que's own, in all that it says to the database
	Listen: &driver.Listen{
		// A trigger announces each change of a job's state, in the transaction that makes it. One for all schemas.
		Channels: []string{"que_state"},
		Payload:  "queue",
	},
}

// layout fits the query to an index for polling: versions is the expression that lists what it begins with, and ofVersion
// the condition on that.
func layout(versions, ofVersion string) string {
	return strings.NewReplacer("{versions}", versions, "{of_version}", ofVersion).Replace(postgresQuery)
}
