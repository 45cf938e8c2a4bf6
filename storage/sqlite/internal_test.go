package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// A reader's lock during a commit makes a writer without a busy timeout fail: it must be seen in every journal mode,
// before the first page is written, and must not be seen afterwards.
func TestRollbackTransactionIsSeenInEveryJournalMode(t *testing.T) {
	for _, mode := range []string{"DELETE", "TRUNCATE", "PERSIST"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			exec := func(statement string) {
				t.Helper()
				if _, err := db.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			exec(`CREATE TABLE jobs (id integer PRIMARY KEY)`)
			for range 2 {
				if inRollbackTransaction(path) {
					t.Error("in a transaction before it began")
				}
				exec(`BEGIN IMMEDIATE`)
				exec(`INSERT INTO jobs DEFAULT VALUES`)
				if !inRollbackTransaction(path) {
					t.Error("not in a transaction in the middle of one")
				}
				exec(`COMMIT`)
			}
			if inRollbackTransaction(path) {
				t.Error("in a transaction after its commit")
			}
		})
	}
}

type recorder struct {
	pushed  chan string
	signals chan struct{}
}

func (r recorder) Push(mode driver.Mode, reason string) { r.pushed <- string(mode) + ": " + reason }
func (r recorder) Signal(string) {
	select {
	case r.signals <- struct{}{}:
	default:
	}
}

// Case 63. A network file system cannot be had in a test; that it is one is what this test makes up.
func TestNetworkFileSystemIsToldAndPolled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	db, err := sql.Open("sqlite", WriterDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE jobs (id integer PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	engine, err := Open(Config{Path: path, SQL: driver.SQL{
		Query: `SELECT 'jobs' AS queue, count(*) AS ready FROM jobs`, Static: true, Notes: []string{"the preset's note"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	engine.network = func(string) string { return "NFS" }

	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "jobs"}}})
	if err != nil {
		t.Fatal(err)
	}
	told := func(note string) bool {
		return strings.Contains(note, "NFS") && strings.Contains(note, "file events do not cross the network") &&
			strings.Contains(note, "journal_mode=DELETE")
	}
	if !slices.ContainsFunc(reading.Notes, told) || !slices.Contains(reading.Notes, "the preset's note") {
		t.Errorf("notes %q do not warn of the network file system", reading.Notes)
	}
	warned := func(f driver.Finding) bool { return f.Level == driver.LevelWarn && told(f.Found) }
	if findings, err := engine.Examine(t.Context()); err != nil || !slices.ContainsFunc(findings, warned) {
		t.Errorf("findings %+v (%v) do not warn of the network file system", findings, err)
	}

	sink := recorder{make(chan string, 10), make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Watch(ctx, sink) }()
	if got := <-sink.pushed; !strings.HasPrefix(got, string(driver.ModeEdgePoll)) || !told(got) {
		t.Errorf("pushed %q, want edge poll with the reason", got)
	}
	<-sink.signals
	if _, err := db.Exec(`INSERT INTO jobs DEFAULT VALUES`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sink.signals:
	case <-time.After(30 * time.Second):
		t.Error("no signal of an insert")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFileSystemsAreToldApart(t *testing.T) {
	if name := networkFS(filepath.Join(os.TempDir(), "absent.db")); name != "" {
		t.Logf("the folder for temporary files is on %s", name)
	}
	if name := networkFS("/proc/self/status"); name != "" {
		t.Errorf("proc is taken for %s", name)
	}
}

func TestExhaustedInotifyNamesTheRemedy(t *testing.T) {
	for _, errno := range []error{syscall.EMFILE, syscall.ENOSPC} {
		reason := folderReason("/data/jobs.db", &os.SyscallError{Syscall: "inotify_add_watch", Err: errno})
		if !strings.Contains(reason, "/data ") || !strings.Contains(reason, "fs.inotify.max_user_watches") {
			t.Errorf("reason %q names no remedy", reason)
		}
	}
}
