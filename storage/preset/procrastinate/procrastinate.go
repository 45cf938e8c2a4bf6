// Package procrastinate is the preset for Procrastinate (https://procrastinate.readthedocs.io), a job queue for Python on
// PostgreSQL. README.md says what is read and what counts.
package procrastinate

import (
	_ "embed" // for the queries
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

var (
	//go:embed postgres.sql
	query string
	//go:embed version.sql
	version string
)

// Preset is Procrastinate as its versions 3.0 to 3.10 lay it out.
var Preset = driver.Preset{
	Name: "procrastinate",
	Postgres: &driver.SQL{
		Version: version,
		Layouts: []driver.Layout{
			{From: 2, To: 2, Query: fill("true", "SELECT NULL::text AS queue_name WHERE false")},
			// A job whose lock is a mutex holds it only once it is due.
			{From: 3, To: 3, Query: fill(
				"(j.lock_mode = 'ordered' OR coalesce(j.scheduled_at <= l.horizon, true))",
				"SELECT DISTINCT q.queue_name FROM {schema}procrastinate_paused_queues q")},
		},
		// How long after its last beat a worker counts as alive. It beats each 10 s, unless a job blocks its event loop.
		RunningMaxAge: 5 * time.Minute,
		Listen: &driver.Listen{
			// The same in every schema. What it says of a job is its id.
			Channels: []string{"procrastinate_any_queue_v1"},
			Payload:  driver.PayloadNone,
		},
	},
}

// fill puts in what differs: when a waiting job holds its lock, and which queues are paused.
func fill(holds, paused string) string {
	return strings.NewReplacer("{holds}", holds, "{paused}", paused).Replace(query)
}
