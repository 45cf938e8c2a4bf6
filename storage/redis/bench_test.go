package redis_test

import (
	"fmt"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// One read of many queues: what each takes beside the server's own time.
func BenchmarkRead(b *testing.B) {
	server := storagetest.StartRedis(b)
	engine, err := redis.Open(redis.Config{URL: url(server.URL()), Redis: &shop})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	for _, n := range []int{1, 100, 1000} {
		req := driver.Request{}
		for i := range n {
			req.Wants = append(req.Wants, driver.Want{Queue: fmt.Sprint("q", i)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.Read(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
