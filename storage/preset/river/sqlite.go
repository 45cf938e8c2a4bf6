package river

import (
	_ "embed"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

//go:embed sqlite.sql
var sqliteQuery string

//go:embed sqlite_activity.sql
var sqliteActivity string

// sqlite is River's riversqlite driver. Its notifications are rows that somebody must poll and that are debounced,
// so the engine watches the file instead.
var sqlite = driver.SQL{
	Query:    sqliteQuery,
	Activity: sqliteActivity,
	// A job that has been running for longer belongs to a worker that died: only a live worker rescues it.
	RunningMaxAge: 24 * time.Hour,
}
