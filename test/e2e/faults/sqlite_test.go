//go:build linux

package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A sqliteStore is River on SQLite, written by processes of their own.
type sqliteStore struct {
	t   *testing.T
	dir string
}

// newSQLiteStore makes the file, with River's tables.
func newSQLiteStore(t *testing.T, dir string) *sqliteStore {
	t.Helper()
	s := &sqliteStore{t, dir}
	rig.Run(t, dir, "enqueue", "other", "--migrate", "--url", s.url())
	return s
}

func (s *sqliteStore) url() string          { return "sqlite:" + filepath.Join(s.dir, "jobs.db") }
func (s *sqliteStore) source(string) string { return fmt.Sprintf("{url: %q, preset: river}", s.url()) }

func (s *sqliteStore) fill(queue string, n int) {
	s.t.Helper()
	rig.Run(s.t, s.dir, "enqueue", queue, "--count", strconv.Itoa(n), "--url", s.url())
}

// enqueueOnce lets the process come to its end, so that its exit code tells whether the job is there.
func (s *sqliteStore) enqueueOnce(_ context.Context, queue, _ string) error {
	return rig.Leadsman(s.t, s.dir, "enqueue", queue, "--url", s.url()).Run()
}

func (s *sqliteStore) drain(queue string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "jobs.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	const done = "UPDATE river_job SET state = 'completed', finalized_at = CURRENT_TIMESTAMP WHERE queue = ? AND state = 'available'"
	if _, err := db.ExecContext(s.t.Context(), done, queue); err != nil {
		s.t.Fatal(err)
	}
}

// SQLite has no server to count connections.
func (s *sqliteStore) connections(*testing.T) int { return 0 }
func (s *sqliteStore) mostConnections() int       { return 0 }

// inNamespace is set in the environment of the test binary that runs in a mount namespace of its own.
const inNamespace = "FAULTS_TEST_IN_NAMESPACE"

// The file lies on a file system of a few megabytes, which goes with the process that mounted it.
func TestDiskOfSQLiteIsFull(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		t.Parallel()
		runInNamespace(t)
		return
	}
	fillUp := func(t *testing.T, v *victim) {
		t.Helper()
		s := v.store.(*sqliteStore)
		fillDisk(t, s.dir)
		// One job more may fit into the log that is there; many do not.
		many := rig.Leadsman(t, s.dir, "enqueue", "other", "--count", "3000", "--url", s.url())
		if out, err := many.CombinedOutput(); err == nil || !strings.Contains(string(out), "full") {
			t.Errorf("3000 jobs on a disk that is full: %v, %s", err, out)
		}
	}
	empty := func(t *testing.T, v *victim) {
		t.Helper()
		if err := os.Remove(filler(v.store.(*sqliteStore).dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []fault{
		{name: "the disk is full", pushed: "file events", begin: fillUp, end: empty, seenThrough: true},
		{
			name: "the disk is full, and leadsman starts on it", pushed: "file events",
			begin: func(t *testing.T, v *victim) {
				v.server.Stop()
				fillUp(t, v)
				v.server.Start()
			}, end: empty,
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			endures(t, befalls(t, "SQLite, River", newSQLiteStore(t, dir), nil), f)
		})
	}
}

func filler(dir string) string { return filepath.Join(dir, "filler") }

// fillDisk writes until nothing can be written any more.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filler(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// runInNamespace runs this test alone in a process with mounts of its own, and takes over its rows of the table.
func runInNamespace(t *testing.T) {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows")
	self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v="+strconv.FormatBool(testing.Verbose()),
		"-faults.table="+rows, "-faults.within="+within.String())
	self.Env = append(os.Environ(), inNamespace+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 { // who is not root is so in a namespace of users
		self.SysProcAttr.Unshareflags, self.SysProcAttr.Cloneflags = 0, syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS
		self.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		self.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	self.Stdout, self.Stderr = t.Output(), t.Output()
	runtime.LockOSThread() // the child dies with the thread that forks it
	defer runtime.UnlockOSThread()
	if err := self.Run(); err != nil {
		t.Fatal(err)
	}
	if err := told.take(rows); err != nil {
		t.Fatal(err)
	}
}
