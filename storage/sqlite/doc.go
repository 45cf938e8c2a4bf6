// Package sqlite reads job queues from a SQLite database file and notices commits to it.
//
// An [Engine] is a driver.Reader and a driver.Watcher over one file. It is a guest in that file: it opens it
// read-only, never creates it, and holds it open only while there is something to see. A connection that
// stays open keeps the writer from removing its write-ahead log, and a log left beside a file that is then
// replaced by rename would be applied to the new file and damage it. What it cannot avoid: SQLite makes the -wal and
// -shm of a database in WAL mode when the first program opens it, also when that only reads.
//
// Reads go through one connection, one at a time, each in autocommit so that no checkpoint waits for us. The
// connection is opened for a read, checked against the file's identity before each, and closed soon after the
// last. See read.go.
//
// Nothing in SQLite tells another process of a commit, so [Engine.Watch] puts two things together: file events
// of the directory say when to look, and PRAGMA data_version says whether a commit has become visible. In WAL
// mode the event comes before the commit is visible, so a look is a burst of looks. See watch.go and burst.go.
//
// No goroutine outlives Read or Watch except an idle timer, which Close stops.
package sqlite
