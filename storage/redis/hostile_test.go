package redis_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Libraries count their scores by the second, and a producer of another make may write finer ones: of a job that comes out
// as due before the read, nobody must hear that the whole reading is refused.
func TestADueTimeThatHasPassedIsNoFault(t *testing.T) {
	preset := &driver.Redis{Queue: func(r *driver.RedisReads, _ *driver.RedisAsk, q *driver.Queue) {
		waiting := r.LLen("jobs")
		r.Then(func() error {
			q.Ready, q.Known, q.NextDue = waiting.Int(), true, -time.Millisecond
			return nil
		})
	}}
	server := storagetest.StartRedis(t)
	server.Do(t, "RPUSH", "jobs", "a")
	engine, err := redis.Open(redis.Config{URL: func() (string, error) { return server.URL(), nil }, Redis: preset})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	if q := read(t, engine, "mail").Queues[0]; q.NextDue <= 0 || q.Ready != 1 {
		t.Errorf("ready %d, due in %s; want 1, and at once", q.Ready, q.NextDue)
	}
}
