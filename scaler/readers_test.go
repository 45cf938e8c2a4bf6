package scaler_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// A slow is a Store whose reads take a while, or for ever, as those of a database may.
type slow struct {
	*memory.Store

	takes atomic.Int64 // nanoseconds
}

// forever is longer than any test.
const forever = 1000 * time.Hour

func newSlow(takes time.Duration) *slow {
	s := &slow{Store: memory.New()}
	s.takes.Store(int64(takes))
	return s
}

func (s *slow) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	timer := time.NewTimer(time.Duration(s.takes.Load()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.Store.Read(ctx, req)
	case <-ctx.Done():
		return driver.Reading{}, ctx.Err()
	}
}

// A polled is a Reader that cannot watch, whatever the one inside can.
type polled struct{ driver.Reader }

// A dying is a Store whose watching ends for good after a while.
type dying struct {
	*memory.Store

	after time.Duration
	err   error
}

func (d dying) Watch(ctx context.Context, sink driver.Sink) error {
	watching, cancel := context.WithTimeout(ctx, d.after)
	defer cancel()
	if err := d.Store.Watch(watching, sink); err != nil || ctx.Err() != nil {
		return err
	}
	return d.err
}

// A deaf is a Store that says that it watches, and does not hear what it should.
type deaf struct{ *memory.Store }

func (deaf) Watch(ctx context.Context, sink driver.Sink) error {
	sink.Push(driver.ModeListen, "")
	<-ctx.Done()
	return nil
}

// A table is a Reader of queues as they stand in it, for counts that nobody wants to enqueue and for readings that
// break the contract.
type table map[string]driver.Queue

func (t table) Read(_ context.Context, req driver.Request) (driver.Reading, error) {
	reading := driver.Reading{Now: time.Now()}
	for _, want := range req.Wants {
		if q, ok := t[want.Queue]; ok {
			q.Name, q.Known, q.Lookahead = want.Queue, true, want.Lookahead
			reading.Queues = append(reading.Queues, q)
		}
	}
	return reading, nil
}

func (t table) Close() error { return nil }

// journal is a log that a test reads.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}
