package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/sqlite"
)

// patience is how long a test waits for what must happen; generous, for a loaded machine.
const patience = 30 * time.Second

// plain is the smallest preset: one table, one queue.
var plain = driver.SQL{Query: `SELECT 'jobs' AS queue, count(*) AS ready FROM jobs`, Static: true}

// openEngine opens a path with the plain preset, unless change says otherwise, and closes it with the test.
func openEngine(t *testing.T, path string, change ...func(*sqlite.Config)) *sqlite.Engine {
	t.Helper()
	cfg := sqlite.Config{Path: path, SQL: plain}
	for _, do := range change {
		do(&cfg)
	}
	engine, err := sqlite.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return engine
}

func withRiver(cfg *sqlite.Config) { cfg.SQL = *river.Preset.SQLite }

// A store is a database that a test writes to.
type store struct {
	t    *testing.T
	path string
	db   *sql.DB
}

// newStore makes a database with an empty table of jobs; pragmas is what follows in the DSN.
func newStore(t *testing.T, path, pragmas string) *store {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+pragmas)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	s := &store{t: t, path: path, db: db}
	s.exec(`CREATE TABLE IF NOT EXISTS jobs (id integer PRIMARY KEY, note text)`)
	return s
}

// newWAL makes a store in WAL mode.
func newWAL(t *testing.T, path string) *store {
	t.Helper()
	_, pragmas, _ := strings.Cut(sqlite.WriterDSN(path), "?")
	return newStore(t, path, pragmas)
}

// newRollback makes a store in rollback-journal mode (DELETE, TRUNCATE or PERSIST).
func newRollback(t *testing.T, path, mode string) *store {
	t.Helper()
	return newStore(t, path, "_pragma=busy_timeout(5000)&_pragma=journal_mode("+mode+")")
}

func (s *store) exec(query string) {
	s.t.Helper()
	if _, err := s.db.Exec(query); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// insert commits n jobs, one by one.
func (s *store) insert(n int) {
	s.t.Helper()
	for range n {
		s.exec(`INSERT INTO jobs DEFAULT VALUES`)
	}
}

func (s *store) close() {
	s.t.Helper()
	if err := s.db.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// ready reads how many jobs are ready.
func ready(t *testing.T, engine *sqlite.Engine) int64 {
	t.Helper()
	return mustRead(t, engine).Queues[0].Ready
}

func mustRead(t *testing.T, engine *sqlite.Engine) driver.Reading {
	t.Helper()
	reading, err := read(t.Context(), engine)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return reading
}

func read(ctx context.Context, engine *sqlite.Engine) (driver.Reading, error) {
	return engine.Read(ctx, driver.Request{Wants: []driver.Want{{Queue: "jobs"}}})
}

// wantError checks that a read fails, never with a zero, with this kind and these words.
func wantError(t *testing.T, engine *sqlite.Engine, kind driver.Kind, words ...string) {
	t.Helper()
	reading, err := read(t.Context(), engine)
	var known *driver.Error
	if !errors.As(err, &known) {
		t.Fatalf("Read = %v, %v; want an error of kind %s", reading, err, kind)
	}
	if known.Kind != kind {
		t.Errorf("kind of %q is %s, want %s", err, known.Kind, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

// A sink remembers what it was told.
type sink struct {
	mu      sync.Mutex
	signals int
	pushes  []string      // "mode: reason"
	changed chan struct{} // holds a token after a change
}

func (s *sink) Signal(string) { s.change(func() { s.signals++ }) }

func (s *sink) Push(mode driver.Mode, reason string) {
	s.change(func() { s.pushes = append(s.pushes, fmt.Sprintf("%s: %s", mode, reason)) })
}

func (s *sink) change(do func()) {
	s.mu.Lock()
	do()
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signals
}

// mode is what was pushed last.
func (s *sink) mode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pushes) == 0 {
		return ""
	}
	return s.pushes[len(s.pushes)-1]
}

// awaitChange waits until condition holds, asking only after the sink was told something: what is never
// signalled is never found.
func (s *sink) awaitChange(t *testing.T, what string, condition func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-s.changed:
		case <-timeout:
			t.Fatalf("not within %s: %s (%d signals, mode %q)", patience, what, s.count(), s.mode())
		}
	}
}

// watch starts a Watch, waits for its first signal and ends it with the test.
func watch(t *testing.T, engine *sqlite.Engine) *sink {
	t.Helper()
	s := &sink{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- engine.Watch(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch = %v, want nil", err)
		}
	})
	s.awaitChange(t, "a first signal", func() bool { return s.count() > 0 })
	return s
}

// awaitClosed waits until this process has no descriptor of path: all connections to it are closed. Where the test
// itself writes to it, that never happens: SQLite puts off the closing, for the sake of POSIX locks.
func awaitClosed(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); openDescriptors(t, path) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is still open", path)
		}
	}
}

// openDescriptors is how many descriptors of path this process has.
func openDescriptors(t *testing.T, path string) (n int) {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the open files of this process cannot be listed here: %v", err)
	}
	for _, d := range descriptors {
		if target, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && target == path {
			n++
		}
	}
	return n
}
