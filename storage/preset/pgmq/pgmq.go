// Package pgmq is the preset for pgmq (https://github.com/pgmq/pgmq), message queues in PostgreSQL, which Supabase calls
// Queues. README.md says what is read and what counts.
package pgmq

import (
	_ "embed" // for the query

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var query string

// Preset is pgmq as its versions 1.0 to 1.13 lay it out: the columns that are read have been the same in all.
var Preset = driver.Preset{
	Name: "pgmq",
	Postgres: &driver.SQL{
		Query:  query,
		Schema: "pgmq",
		Listen: &driver.Listen{
			// The channel is named by the table in older versions and by the queue, whose case counts, in newer ones.
			// One with a longer name cannot be announced on.
			Query: `
				SELECT channel FROM (
					SELECT 'pgmq.q_' || m.queue_name || '.INSERT' AS channel FROM {schema}meta m
					UNION
					SELECT 'pgmq.q_' || lower(m.queue_name) || '.INSERT' FROM {schema}meta m
				) AS channels
				WHERE octet_length(channel) <= 63`,
			Payload: driver.PayloadNone,
			Partial: "pgmq announces only the messages of queues for which enable_notify_insert was called, and not all of those",
		},
		Bell: &driver.Bell{
			Preset: "pgmq",
			Queue:  "TG_ARGV[0]",
			Tables: []driver.BellTable{{
				Each: `
					SELECT lower('q_' || m.queue_name) AS name, m.queue_name AS queue
					FROM {schema}meta m
					JOIN pg_catalog.pg_class b ON b.oid = m.tableoid
					JOIN pg_catalog.pg_class q ON q.relnamespace = b.relnamespace AND q.relname = lower('q_' || m.queue_name)`,
				Update: "NEW.vt < OLD.vt",
			}},
			Silent: "A message that its reader gives up on does not ring.",
		},
	},
}
