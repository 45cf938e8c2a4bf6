package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	_ "modernc.org/sqlite" // database/sql's driver "sqlite"
)

// readyQuery says whether River has a job that could run.
const readyQuery = `SELECT EXISTS (SELECT 1 FROM river_job WHERE state = 'available')`

// The event of a write to the log comes before the commit is visible, so the bare watcher looks every few
// microseconds for a while after each, then every millisecond, and then waits for the next.
const (
	eager  = 5 * time.Millisecond
	giveUp = 250 * time.Millisecond
)

// watchFile returns a function that calls wake as soon as a job is visible in a SQLite file: file events of the
// write-ahead log, and after each the prepared EXISTS over and over. It keeps the file open for ever, which no guest
// in somebody's database should do; hence it is a limit.
func watchFile(file string) (follow func(ctx context.Context, wake func()) error, err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(1000)")
	if err != nil {
		return nil, err
	}
	ready, err := db.Prepare(readyQuery)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := events.Add(filepath.Dir(file)); err != nil {
		return nil, errors.Join(err, db.Close(), events.Close())
	}
	return func(ctx context.Context, wake func()) error {
		defer db.Close()
		defer events.Close()
		var seen bool
		for last := time.Now(); ; {
			if await(ctx, events.Events, file+"-wal", time.Since(last)) {
				last = time.Now()
			}
			if ctx.Err() != nil {
				return nil
			}
			var now bool
			if err := ready.QueryRow().Scan(&now); err != nil { // without a context, which would cost a goroutine
				return err
			}
			if now && !seen {
				wake()
			}
			seen = now
		}
	}, nil
}

// await waits until it is time to look, and says whether an event of the file came meanwhile. since is how long ago
// the last one was.
func await(ctx context.Context, events <-chan fsnotify.Event, file string, since time.Duration) bool {
	var until <-chan time.Time // nil for ever
	switch {
	case since < eager:
		nap()
		until = elapsed
	case since < giveUp:
		until = time.After(time.Millisecond)
	}
	for {
		select {
		case event := <-events:
			if event.Name == file {
				return true
			}
		case <-until:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// elapsed is a time that has come.
var elapsed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()
