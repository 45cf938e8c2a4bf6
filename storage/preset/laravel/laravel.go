// Package laravel is the preset for Laravel's queues (https://laravel.com/docs/queues), for PHP: the database queue, on
// PostgreSQL and SQLite, and the Redis queue, Horizon's too. README.md says what is read and what counts.
package laravel

import (
	_ "embed" // for the queries
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed postgres.sql
var postgresQuery string

//go:embed sqlite.sql
var sqliteQuery string

// retryAfter is retry_after of the connection in a new application's config/queue.php: a job that has been reserved for
// longer is free for the next worker.
const retryAfter = 90 * time.Second

// Preset is Laravel's table jobs, and its keys in Redis, as they have been since 5.3; later versions changed nothing that
// is read.
var Preset = driver.Preset{
	Name:     "laravel",
	Postgres: &driver.SQL{Query: postgresQuery, RunningMaxAge: retryAfter, Bell: &bell},
	SQLite:   &driver.SQL{Query: sqliteQuery, RunningMaxAge: retryAfter},
	Redis:    &onRedis,
}

// bell rings for new jobs. Laravel inserts a job anew that is to be tried again; updates are somebody's repair.
var bell = driver.Bell{
	Preset: "laravel",
	Queue:  "NEW.queue",
	Tables: []driver.BellTable{{
		Name:   "jobs",
		Insert: "NEW.reserved_at IS NULL",
		Update: "NEW.reserved_at IS NULL AND (OLD.reserved_at IS NOT NULL OR NEW.available_at < OLD.available_at" +
			" OR NEW.queue <> OLD.queue)",
	}},
	Silent: "A reservation that expires does not ring.",
}
