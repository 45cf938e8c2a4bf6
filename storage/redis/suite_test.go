package redis_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// shop is a job library as small as they come: "shop:names", a set, and for each queue a list of jobs that wait, one of
// those that run, and a sorted set of those that are due in the future, by seconds.
var shop = driver.Redis{
	Defaults: driver.RedisOptions{Prefix: "shop:"},
	Queue: func(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
		key := ask.Prefix + ask.Queue
		due, now := score(ask.Due()), score(ask.Now)
		known := r.SIsMember(ask.Prefix+"names", ask.Queue)
		overdue := r.ZCount(key+":later", "-inf", due)
		all := r.ZCard(key + ":later")
		wait := r.LLen(key + ":wait")
		running := r.LLen(key + ":run")
		next := r.ZRangeByScore(key+":later", "("+due, "+inf", 1)
		r.Then(func() error {
			q.Known = known.Int() > 0
			q.Ready, q.Running, q.Scheduled = wait.Int()+overdue.Int(), running.Int(), all.Int()-overdue.Int()
			for _, first := range next.Scores() {
				q.NextDue = at(first.Score).Sub(ask.Now)
			}
			if ask.Activity || q.Ready == 0 {
				return nil
			}
			head, born := r.Lenient().ZRangeByScore(key+":later", "-inf", now, 1), r.Lenient().LIndex(key+":wait", -1)
			r.Then(func() error {
				for _, first := range head.Scores() {
					q.Oldest = ask.Now.Sub(at(first.Score))
				}
				if text, ok := born.Text(); ok {
					seconds, err := strconv.ParseFloat(text, 64)
					if err != nil {
						return err
					}
					q.Oldest = max(q.Oldest, ask.Now.Sub(at(seconds)))
				}
				return nil
			})
			return nil
		})
	},
	List: func(r *driver.RedisReads, o *driver.RedisOptions, found func(string)) {
		r.Names(o.Prefix+"names", found)
	},
}

func score(t time.Time) string     { return fmt.Sprintf("%.6f", float64(t.UnixMicro())/1e6) }
func at(seconds float64) time.Time { return time.UnixMicro(int64(seconds * 1e6)) }

// A shopper writes jobs of the shop.
type shopper struct {
	tb  testing.TB
	run func(tb testing.TB, command ...string)
}

func shopOf(tb testing.TB, server *storagetest.RedisServer) *shopper {
	return &shopper{tb, func(tb testing.TB, command ...string) {
		tb.Helper()
		if err := server.Do(tb, command...).Error(); err != nil {
			tb.Fatal(err)
		}
	}}
}

func (s *shopper) do(command ...string) {
	s.tb.Helper()
	s.run(s.tb, command...)
}

func (s *shopper) push(command, key string, n int) {
	s.tb.Helper()
	words := []string{command, key}
	for range n {
		words = append(words, score(time.Now()))
	}
	s.do(words...)
}

func (s *shopper) name(queue string) { s.do("SADD", "shop:names", queue) }

func (s *shopper) Insert(queue string, n int) {
	s.name(queue)
	s.push("LPUSH", "shop:"+queue+":wait", n)
}

func (s *shopper) Schedule(queue string, n int, in time.Duration) {
	s.name(queue)
	for i := range n {
		s.do("ZADD", "shop:"+queue+":later", score(time.Now().Add(in)), fmt.Sprint("job", i, in))
	}
}

func (s *shopper) Run(queue string, n int) {
	s.name(queue)
	s.push("LPUSH", "shop:"+queue+":run", n)
}

func (s *shopper) Finish(queue string, _ int)        { s.name(queue) }
func (s *shopper) Cancel(queue string, _ int)        { s.name(queue) }
func (s *shopper) Pause(string)                      { s.tb.Fatal("a shop has no pause") }
func (s *shopper) Orphan(string, int, time.Duration) { s.tb.Fatal("a shop has no orphans") }
func (s *shopper) Fail(string, int, time.Duration)   { s.tb.Fatal("a shop has no retries") }
func (s *shopper) Snooze(string, int, time.Duration) { s.tb.Fatal("a shop has no retries") }

func url(text string) func() (string, error) { return func() (string, error) { return text, nil } }

// open is an engine that reads shops and is closed when the test ends.
func open(t *testing.T, text string) *redis.Engine {
	t.Helper()
	engine, err := redis.Open(redis.Config{URL: url(text), Redis: &shop})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return engine
}

func TestRedisKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			server := storagetest.StartRedis(t)
			engine, err := redis.Open(redis.Config{URL: url(server.URL()), Redis: &shop})
			if err != nil {
				t.Fatal(err)
			}
			return engine, shopOf(t, server)
		},
		Abilities: storagetest.Abilities{
			Push: driver.ModeTracking, Everything: true, Lookahead: true, Exact: true, Armed: true,
		},
	})
}
