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

// Start starts a server and returns what writes to it, and an engine that reads it, until the test ends.
func Start[F any](
	t *testing.T, preset *driver.Redis, options driver.RedisOptions, newFixture func(testing.TB, *storagetest.RedisServer) F,
) (F, *redis.Engine) {
	t.Helper()
	server := storagetest.StartRedis(t)
	return newFixture(t, server), Open(t, preset, options, server.URL())
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
