package sqlite

import (
	"context"
	"errors"

	lib "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A counter tells whether another connection has committed, by PRAGMA data_version: a number that is cheap to
// read and that changes, as seen by one connection, with every commit of another.
type counter struct {
	path    string
	file    *file // nil while closed
	version int64
}

// moved says whether there may have been a commit since the last call. The first call after opening has nothing to
// compare with and says yes. A writer that is just committing in rollback-journal mode counts as no: its
// commit will show. The call does not wait for locks, and so needs no context, whose every use would cost a goroutine.
func (c *counter) moved() (bool, error) {
	if inRollbackTransaction(c.path) {
		return false, nil
	}
	fresh := c.file == nil
	if fresh {
		file, err := openFile(context.Background(), c.path, 0, fixed("PRAGMA data_version"))
		if err != nil {
			return false, unlessBusy(err)
		}
		c.file = file
	}
	version, err := c.read()
	switch {
	case err != nil && unlessBusy(err) == nil:
		return fresh, nil
	case err != nil:
		return false, errors.Join(err, c.close())
	}
	moved := fresh || version != c.version
	c.version = version
	return moved, nil
}

func (c *counter) read() (version int64, err error) {
	if err := c.file.prepare(context.Background(), c.file.query); err != nil {
		return 0, err
	}
	err = c.file.prepared[c.file.query].QueryRow().Scan(&version) //nolint:noctx // see moved
	return version, err
}

// close closes the counter, which opens again when it is asked.
func (c *counter) close() error {
	if c.file == nil {
		return nil
	}
	err := c.file.close()
	c.file = nil
	return err
}

// unlessBusy returns err, or nil when it says that a writer is at work.
func unlessBusy(err error) error {
	var failed *lib.Error
	if errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_BUSY {
		return nil
	}
	return err
}
