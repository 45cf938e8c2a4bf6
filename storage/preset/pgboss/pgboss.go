// Package pgboss is the preset for pg-boss (https://github.com/timgit/pg-boss), a job queue for Node.js on PostgreSQL.
// README.md says what is read and what counts.
package pgboss

import (
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Preset is pg-boss as its versions 9 to 12.38 lay it out: 20 to 46 of its schema.
var Preset = driver.Preset{
	Name: "pg_boss",
	Postgres: &driver.SQL{
		Version: "SELECT version FROM {schema}version",
		Layouts: queries(layouts),
		Schema:  "pgboss",
		// Jobs expire by themselves, after 15 minutes if nothing else was said; this is only the end of all patience.
		RunningMaxAge: 30 * 24 * time.Hour,
		Listen: &driver.Listen{
			Query: `
				SELECT 'pgboss_' || left(encode(sha224(convert_to(n.nspname, 'UTF8')), 'hex'), 24)
				FROM {schema}version v
				JOIN pg_catalog.pg_class c ON c.oid = v.tableoid
				JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`,
			Payload: driver.PayloadQueue,
			Partial: "pg-boss announces the jobs of queues made with notify: true only (version 12.21 and later), and of no others",
		},
		Bell: &driver.Bell{
			Preset: "pg_boss",
			Queue:  "NEW.name",
			// The table has been partitioned since version 10, and its partitions take the trigger from it, those made
			// later too. What else an update of a waiting job may bring, such as the end of its being blocked, is in
			// columns that not all versions have.
			Tables: []driver.BellTable{{Name: "job", Insert: "NEW.state < 'active'", Update: "NEW.state < 'active'"}},
		},
	},
}
