package rediskeys_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// oddPart draws parts of keys and of names.
func oddPart() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(redistest.OddNames()), rapid.StringN(0, 5, -1), rapid.StringMatching(`[a-c*?\[\]{}\\:]{0,6}`))
}

// Whatever a key's template and a queue are called, the key is the template with the name in it, byte for byte: it is no
// pattern and no command, and its neighbours do not count.
func TestKeysAreNeverPatternsOrCommands(t *testing.T) {
	server := storagetest.StartRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		before, after := oddPart().Draw(rt, "before"), oddPart().Draw(rt, "after")
		queue := oddPart().Filter(func(s string) bool { return s != "" }).Draw(rt, "queue")
		if strings.Contains(before+after, "{queue}") {
			rt.Skip() // the name would be there more than once
		}
		n := rapid.IntRange(0, 5).Draw(rt, "n")
		server.Do(t, "FLUSHALL")
		key := before + queue + after
		for range n {
			server.Do(t, "RPUSH", key, "job")
		}
		for _, like := range []string{key + "x", "x" + key, before + "mailx" + after, before + "{queue}x" + after} {
			if like != key {
				server.Do(t, "RPUSH", like, "a", "b", "c", "d", "e", "f", "g")
			}
		}
		changes := redistest.Changes(t, server)
		engine, err := redis.Open(redis.Config{
			URL: func() (string, error) { return server.URL(), nil }, Redis: rediskeys.Preset.Redis, Timeout: time.Minute,
			Options: driver.RedisOptions{Keys: []driver.RedisKey{{Key: before + "{queue}" + after, Type: "list", State: "ready"}}},
		})
		if err != nil {
			rt.Fatalf("key %q: %v", before+"{queue}"+after, err)
		}
		defer engine.Close()
		reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: queue}}})
		if err != nil || len(reading.Queues) != 1 || reading.Queues[0].Ready != int64(n) {
			rt.Errorf("key %q: %+v, %v, want %d ready", key, reading, err, n)
		}
		if now := redistest.Changes(t, server); now != changes {
			rt.Errorf("what there is has changed by reading: %s, before %s", now, changes)
		}
	})
}
