package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	lib "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/leadsman/leadsman/storage/driver"
)

// Extended result codes that need an advice of their own. https://www.sqlite.org/rescode.html
const (
	readonlyRecovery  = sqlite3.SQLITE_READONLY | 1<<8
	readonlyCantInit  = sqlite3.SQLITE_READONLY | 5<<8
	readonlyDirectory = sqlite3.SQLITE_READONLY | 6<<8
	readonlyRollback  = sqlite3.SQLITE_READONLY | 3<<8
)

// classify turns an error of a read into a *driver.Error, or into ctx's own when the caller gave up. It is the
// one place where SQLite's codes are known.
func (e *Engine) classify(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*driver.Error](err); ok {
		return err
	}
	kind, text := driver.Unavailable, err.Error()
	var failed *lib.Error
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		kind, text = driver.Timeout, fmt.Sprintf("no answer in time (timeout %s)", e.cfg.Timeout)
	case errors.As(err, &failed):
		kind, text = e.explain(failed.Code(), failed.Error())
	}
	return &driver.Error{Kind: kind, Message: e.cfg.Path + ": " + text, Err: err}
}

// explain says what a result code means for the person who runs leadsman, and what to do.
func (e *Engine) explain(code int, text string) (driver.Kind, string) {
	switch code {
	case readonlyDirectory, readonlyCantInit, readonlyRecovery:
		return driver.Unavailable, e.unwritableWAL()
	case readonlyRollback:
		return driver.Unavailable, "a writer died in a transaction and left a -journal, which only a writer can roll back; " +
			"start the program that enqueues"
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return driver.Timeout, fmt.Sprintf("locked by a writer for longer than the busy timeout of %s; "+
			"keep write transactions short, or raise busyTimeout", e.cfg.BusyTimeout)
	case sqlite3.SQLITE_CANTOPEN:
		return e.explainCannotOpen()
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return driver.Denied, "permission denied; let leadsman's user read the file"
	case sqlite3.SQLITE_NOTADB:
		return driver.Schema, "not a SQLite database (or an encrypted one); correct the url"
	case sqlite3.SQLITE_CORRUPT:
		return driver.Unavailable, "the database is damaged; run PRAGMA integrity_check and restore a backup"
	case sqlite3.SQLITE_ERROR:
		return explainQuery(text)
	}
	return driver.Unavailable, text
}

// explainQuery is for errors of the query's text, which SQLite tells apart only in words.
func explainQuery(text string) (driver.Kind, string) {
	text = strings.TrimPrefix(text, "SQL logic error: ")
	text = strings.TrimSuffix(text, " (1)")
	for _, missing := range []string{"no such table", "no such column", "no such function", "no such view"} {
		if strings.HasPrefix(text, missing) {
			return driver.Schema, text + "; is this the right file, and did the job library's migrations run on it?"
		}
	}
	return driver.Contract, "the query failed: " + text
}

// explainCannotOpen finds out why a file that exists cannot be opened; SQLite says no more than that.
func (e *Engine) explainCannotOpen() (driver.Kind, string) {
	if _, err := os.Stat(e.cfg.Path); err != nil {
		return driver.Unavailable, "does not exist; the program that enqueues creates it: start that program once, or correct the url"
	}
	if !readable(e.cfg.Path) {
		return driver.Denied, "permission denied; let leadsman's user read the file"
	}
	return driver.Unavailable, e.unwritableWAL()
}

// unwritableWAL is the advice where a database in WAL mode meets a folder that leadsman may not write to: also a
// reader needs the -shm file, and it is there only while a writer has the database open. Opening the file as
// immutable would avoid the error and never see a change, so it is no way out.
func (e *Engine) unwritableWAL() string {
	return fmt.Sprintf("in WAL mode, and no writer has it open, and leadsman may not create %s-shm: "+
		"let leadsman's user write to %s (no read-only mount), or keep the program that enqueues running, "+
		"or have it use PRAGMA journal_mode=DELETE", filepath.Base(e.cfg.Path), filepath.Dir(e.cfg.Path))
}
