package redistest

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// timeout of a read: for a loaded machine and the race detector.
const timeout = time.Minute

// Harness is a preset on a Redis server of its own for storagetest.Run. newFixture returns what writes to the server.
func Harness[F storagetest.Fixture](
	preset *driver.Redis, options driver.RedisOptions, newFixture func(testing.TB, *storagetest.RedisServer) F,
	abilities storagetest.Abilities,
) storagetest.Harness {
	abilities.Push, abilities.Armed, abilities.Exact = driver.ModeTracking, true, true
	return storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			server := storagetest.StartRedis(t)
			return newEngine(t, preset, options, server.URL()), newFixture(t, server)
		},
		Abilities: abilities,
	}
}

// Open is an engine that is closed when the test ends.
func Open(t *testing.T, preset *driver.Redis, options driver.RedisOptions, url string) *redis.Engine {
	t.Helper()
	engine := newEngine(t, preset, options, url)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func newEngine(t *testing.T, preset *driver.Redis, options driver.RedisOptions, url string) *redis.Engine {
	t.Helper()
	engine, err := redis.Open(redis.Config{
		URL: func() (string, error) { return url, nil }, Redis: preset, Options: options, Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// ReadQueue reads one queue, exactly.
func ReadQueue(t *testing.T, engine driver.Reader, name string) driver.Queue {
	t.Helper()
	want := driver.Want{Queue: name}
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err == nil {
		err = reading.Failed[want]
	}
	if err != nil {
		t.Fatalf("Read(%v): %v", want, err)
	}
	return reading.Queues[0]
}

// Near fails the test unless got is around want, give or take a minute: for ages of minutes and hours, on a machine that
// may be slow between the write and the read.
func Near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want-time.Minute || got > want+time.Minute {
		t.Errorf("%s = %s, want about %s", what, got, want)
	}
}
