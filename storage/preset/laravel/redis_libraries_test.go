//go:build libraries

package laravel_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A redisLibrary writes with Laravel's Redis queue itself.
type redisLibrary struct {
	tb  testing.TB
	php *storagetest.Producer
}

// redisRetryAfter is the connection's retry_after, in seconds.
const redisRetryAfter = 90

func newRedisLibrary(tb testing.TB, server *storagetest.RedisServer) redisLibrary {
	tb.Helper()
	host, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		tb.Fatal(err)
	}
	l := redisLibrary{tb, storagetest.Script(tb, "php", "laravel.php")}
	l.do("openRedis", map[string]any{
		"host": host, "port": number, "prefix": laravel.Preset.Redis.Defaults.Prefix, "retryAfter": redisRetryAfter,
	})
	tb.Cleanup(func() { l.do("closeRedis", nil) })
	return l
}

func (l redisLibrary) do(command string, args map[string]any) {
	l.tb.Helper()
	storagetest.Call[any](l.tb, l.php, command, args)
}

func (l redisLibrary) count(command, queue string) int64 {
	l.tb.Helper()
	return storagetest.Call[int64](l.tb, l.php, command, map[string]any{"queue": queue})
}

func (l redisLibrary) Insert(queue string, n int) { l.Schedule(queue, n, 0) }

func (l redisLibrary) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.do("push", map[string]any{"queue": queue, "n": n, "after": seconds(in)})
}

func (l redisLibrary) Pause(string) { l.tb.Fatal("no pause of Laravel's is with its queues") }

func (l redisLibrary) Run(queue string, n int) {
	l.tb.Helper()
	l.do("take", map[string]any{"queue": queue, "n": n})
}

func (l redisLibrary) Orphan(queue string, n int, age time.Duration) {
	l.tb.Helper()
	l.do("abandon", map[string]any{"queue": queue, "n": n, "by": seconds(age), "retryAfter": redisRetryAfter})
}

func (l redisLibrary) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.do("release", map[string]any{"queue": queue, "n": n, "after": seconds(in)})
}

func (l redisLibrary) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l redisLibrary) Cancel(queue string, n int) { l.Finish(queue, n) }

func (l redisLibrary) Finish(queue string, n int) {
	l.tb.Helper()
	l.do("finish", map[string]any{"queue": queue, "n": n})
}

func TestLaravelItselfOnRedisKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(laravel.Preset.Redis, driver.RedisOptions{}, newRedisLibrary, redisAbilities))
}

func TestReadyOnRedisIsWhatLaravelHandsOut(t *testing.T) {
	l, engine := redistest.Start(t, laravel.Preset.Redis, driver.RedisOptions{}, newRedisLibrary)
	l.Finish("mail", 2)
	l.Run("mail", 3)
	l.Fail("mail", 1, time.Hour)
	l.Fail("mail", 2, -time.Minute)
	l.Orphan("mail", 4, 5*time.Minute)
	l.Insert("mail", 5)
	l.Schedule("mail", 1, time.Hour)
	got := redistest.ReadQueue(t, engine, "mail")
	if size := l.count("size", "mail"); size != got.Ready+got.Running+got.Scheduled {
		t.Errorf("ready, running and scheduled = %d, %d, %d, and Laravel says %d for all", got.Ready, got.Running, got.Scheduled, size)
	}
	if out := l.count("drain", "mail"); got.Ready != out || got.Ready != 11 || got.Running != 3 {
		t.Errorf("ready = %d, running = %d, and Laravel handed out %d; want 11, 3, 11", got.Ready, got.Running, out)
	}
	if got := redistest.ReadQueue(t, engine, "mail"); got.Ready != 0 || got.Running != 14 || got.Scheduled != 2 {
		t.Errorf("with all handed out: %+v", got)
	}
}
