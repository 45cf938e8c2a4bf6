package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storagetest.ClusterLeftovers()...) }

// patience is how long tests wait for what must happen; generous, for a loaded machine.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// read reads queues and fails the test where that cannot be.
func read(t *testing.T, engine *redis.Engine, names ...string) driver.Reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reading, err := engine.Read(ctx, driver.Request{Wants: wants(names...)})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return reading
}

// tryRead reads queues within two seconds.
func tryRead(t *testing.T, engine *redis.Engine, names ...string) (driver.Reading, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return engine.Read(ctx, driver.Request{Wants: wants(names...)})
}

func wants(names ...string) []driver.Want {
	out := make([]driver.Want, len(names))
	for i, name := range names {
		out[i].Queue = name
	}
	return out
}

// ready is how many jobs of a queue are ready.
func ready(t *testing.T, engine *redis.Engine, queue string) int64 { //nolint:unparam // reads better so
	t.Helper()
	return read(t, engine, queue).Queues[0].Ready
}

// fails holds an error against a kind and words.
func fails(t *testing.T, err error, kind driver.Kind, words ...string) {
	t.Helper()
	known, ok := errors.AsType[*driver.Error](err)
	if !ok || known.Kind != kind {
		t.Errorf("got %v, want an error of kind %s", err, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(known.Message, word) {
			t.Errorf("%q does not say %q", known.Message, word)
		}
	}
}
