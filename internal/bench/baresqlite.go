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

// readyQuery counts the jobs of River's that could run.
const readyQuery = `SELECT count(*) FROM river_job WHERE state = 'available'`

// The event of a write to the log comes before the commit is visible, so the bare watcher looks every few
// microseconds for a while after each, and then every millisecond until it gives up.
const (
	eager  = 5 * time.Millisecond
	giveUp = 250 * time.Millisecond
)

// watchFile returns a function that calls wake as soon as a job is visible in a SQLite file: file events of the
// write-ahead log, and after each the prepared count over and over until it has changed. It keeps the file open for
// ever, which no guest in somebody's database should do; hence it is a limit.
func watchFile(file string) (follow func(ctx context.Context, wake func()) error, err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(1000)")
	if err != nil {
		return nil, err
	}
	count, err := db.Prepare(readyQuery)
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
		var seen int
		for {
			select {
			case <-ctx.Done():
				return nil
			case err := <-events.Errors:
				return err
			case event := <-events.Events:
				if event.Name != file+"-wal" {
					continue
				}
			}
			n, err := changed(ctx, count, seen)
			if err != nil {
				return unlessDone(ctx, err)
			}
			if n > seen {
				wake()
			}
			seen = n
		}
	}, nil
}

// changed counts until the count is another than seen, or nothing has come of the event.
func changed(ctx context.Context, count *sql.Stmt, seen int) (n int, err error) {
	for start := time.Now(); ; {
		if err := count.QueryRowContext(ctx).Scan(&n); err != nil || n != seen {
			return n, err
		}
		switch waited := time.Since(start); {
		case waited > giveUp:
			return n, nil
		case waited > eager:
			time.Sleep(time.Millisecond)
		default: // the writer needs the core too
			nap()
		}
	}
}
