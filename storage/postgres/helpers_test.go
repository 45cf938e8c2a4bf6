package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
)

// patience is how long a test waits for what must happen; generous, for a loaded machine.
const patience = 30 * time.Second

// static is a preset of one query without parameters.
func static(query string) driver.SQL { return driver.SQL{Query: query, Static: true} }

func always(dsn string) func() (string, error) {
	return func() (string, error) { return dsn, nil }
}

func open(t *testing.T, cfg postgres.Config) *postgres.Engine {
	t.Helper()
	engine, err := postgres.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// connect opens a connection for the test's own use.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // for cleanups too
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func number(t *testing.T, conn *pgx.Conn, sql string) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// every asks for all queues.
var every = driver.Request{Wants: []driver.Want{{}}}

// ready reads one queue's count.
func ready(t *testing.T, engine *postgres.Engine, queue string) int64 {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: queue}}})
	if err != nil {
		t.Fatal(err)
	}
	return reading.Queues[0].Ready
}

// mustFail reads all queues and expects an error of a kind that says each of the parts.
func mustFail(t *testing.T, engine *postgres.Engine, kind driver.Kind, says ...string) {
	t.Helper()
	_ = failure(t, engine, kind, says...)
}

// failure is mustFail for those who want to see the error.
func failure(t *testing.T, engine *postgres.Engine, kind driver.Kind, says ...string) *driver.Error {
	t.Helper()
	reading, err := engine.Read(t.Context(), every)
	if err == nil {
		t.Fatalf("got %+v, want an error", reading)
	}
	var known *driver.Error
	if !errors.As(err, &known) {
		t.Fatalf("got %T %v, want a *driver.Error", err, err)
	}
	if known.Kind != kind {
		t.Errorf("got kind %s, want %s: %v", known.Kind, kind, err)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	return known
}

// as changes a URL's user.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// A logbook collects what an engine logs.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// connectPlain opens a connection that prepares nothing, for use through a pooler.
func connectPlain(t *testing.T, dsn string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	}
	return conn, err
}
