package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	_ "modernc.org/sqlite" // the driver's name is "sqlite"

	"github.com/leadsman/leadsman/storage/driver"
)

// file is one open, read-only connection, what is read on it, and the file that it was opened on. The path may come to
// name another file; isAt tells.
type file struct {
	info     os.FileInfo
	db       *sql.DB              // of one connection
	query    string               // what it is for
	prepared map[string]*sql.Stmt // by text
}

// openFile opens path for the query that choose returns, waiting up to busy for a lock, then and in each execution.
//
// It asks the file system for the file's identity and permissions and never opens the file by itself: closing
// a descriptor of a database drops all POSIX locks that SQLite holds on it in this process.
func openFile(
	ctx context.Context, path string, busy time.Duration, choose func(context.Context, *sql.DB) (string, error),
) (*file, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", readerDSN(path, busy))
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	query, err := choose(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &file{info: info, db: db, query: query, prepared: map[string]*sql.Stmt{}}, nil
}

// prepare prepares a query that is not prepared yet. It is called before each use, and not when the file is opened: to compile
// a query takes longer than to read by it, and whoever has opened the file mostly waits for one alone.
func (f *file) prepare(ctx context.Context, query string) error {
	if f.prepared[query] != nil {
		return nil
	}
	stmt, err := f.db.PrepareContext(ctx, query) //nolint:sqlclosecheck // it is closed with the file
	if err == nil {
		f.prepared[query] = stmt
	}
	return err
}

// isAt says whether info is of the file that is open.
func (f *file) isAt(info os.FileInfo) bool { return os.SameFile(f.info, info) }

// close closes the file, and with it what is prepared.
func (f *file) close() error { return f.db.Close() }

// stat returns the identity of the database at path. The error is a *driver.Error.
func stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &driver.Error{Kind: driver.Unavailable, Err: err, Message: fmt.Sprintf(
			"%s does not exist; the program that enqueues creates it: start that program once, or correct the url", path)}
	case errors.Is(err, fs.ErrPermission):
		return nil, &driver.Error{Kind: driver.Denied, Err: err, Message: fmt.Sprintf(
			"%s cannot be reached: permission denied; let leadsman's user enter every folder above it", path)}
	case err != nil:
		return nil, &driver.Error{Kind: driver.Unavailable, Err: err, Message: fmt.Sprintf("%s: %v", path, err)}
	case info.IsDir():
		return nil, driver.Errorf(driver.Unavailable, "%s is a directory; name the database file in it", path)
	}
	return info, nil
}
