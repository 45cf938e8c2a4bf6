package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A bed is where figures are measured. It is the testing.TB of package storagetest, whose throwaway servers it uses
// outside of a test. Like a test's, its methods end the measurement when something fails, by a panic that attempt
// recovers; so they are called from the goroutine that measures. What a bed started goes with clean.
type bed struct {
	testing.TB // nil, for the methods that nothing here calls

	ctx      context.Context
	opts     *options
	parent   *bed
	postgres *storagetest.Cluster // of the root; nil until it is needed
	cleanups []func()
	err      error // what Errorf was told
}

func newBed(ctx context.Context, opts *options) *bed { return &bed{ctx: ctx, opts: opts} }

// sub returns a bed within b that is cleaned by itself.
func (b *bed) sub() *bed { return &bed{ctx: b.ctx, opts: b.opts, parent: b} }

// A failure is the panic that ends a measurement.
type failure struct{ err error }

// attempt runs f and returns what ended it.
func (b *bed) attempt(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = errors.Join(p.err, b.err)
		default:
			panic(p)
		}
	}()
	f()
	return b.err
}

// must ends the measurement if there is an error.
func (b *bed) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// clean undoes what was done in the bed, the latest first.
func (b *bed) clean() {
	for len(b.cleanups) > 0 {
		last := b.cleanups[len(b.cleanups)-1]
		b.cleanups = b.cleanups[:len(b.cleanups)-1]
		last()
	}
}

// Helper implements testing.TB.
func (b *bed) Helper() {}

// Cleanup implements testing.TB.
func (b *bed) Cleanup(f func()) { b.cleanups = append(b.cleanups, f) }

// Context implements testing.TB.
func (b *bed) Context() context.Context { return b.ctx }

// Output implements testing.TB.
func (b *bed) Output() io.Writer { return os.Stderr }

// Fatal implements testing.TB.
func (b *bed) Fatal(args ...any) { panic(failure{errors.New(fmt.Sprint(args...))}) }

// Fatalf implements testing.TB.
func (b *bed) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Errorf implements testing.TB.
func (b *bed) Errorf(format string, args ...any) {
	b.err = errors.Join(b.err, fmt.Errorf(format, args...))
}

// pick returns quick in a smoke test and full otherwise.
func pick[T any](b *bed, full, quick T) T {
	if b.opts.quick {
		return quick
	}
	return full
}

// cluster returns the PostgreSQL server that all figures share. Nothing on it has to survive a power cut, and it has
// room enough that no figure waits for its disk.
func (b *bed) cluster() *storagetest.Cluster {
	if b.parent != nil {
		return b.parent.cluster()
	}
	if b.postgres == nil {
		b.postgres = storagetest.StartCluster(b,
			storagetest.Setting("shared_preload_libraries", "pg_stat_statements"),
			storagetest.Setting("shared_buffers", "256MB"),
			storagetest.Setting("max_wal_size", "8GB"),
			// Bulk loads into new tables write no log.
			storagetest.Setting("wal_level", "minimal"), storagetest.Setting("max_wal_senders", "0"))
	}
	return b.postgres
}

// withConn runs f with a connection.
func (b *bed) withConn(url string, f func(*pgx.Conn)) {
	conn, err := pgx.Connect(b.ctx, url)
	b.must(err)
	defer func() { _ = conn.Close(context.WithoutCancel(b.ctx)) }() // nothing is lost with it
	f(conn)
}

// exec runs statements on a database.
func (b *bed) exec(url string, statements ...string) {
	b.withConn(url, func(conn *pgx.Conn) {
		for _, statement := range statements {
			_, err := conn.Exec(b.ctx, statement)
			b.must(err)
		}
	})
}

// tempDir makes a folder that goes with the bed.
func (b *bed) tempDir() string {
	dir, err := os.MkdirTemp("", "leadsman-bench-")
	b.must(err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) }) // the system's own clean-up gets what is left
	return dir
}
