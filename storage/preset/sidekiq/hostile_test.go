package sidekiq_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/sidekiq"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, sidekiq.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, sidekiq.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, sidekiq.Preset.Redis, driver.RedisOptions{}, newFixture)
}

// Jobs of 16 MB are read as others are, wherever their queue is said.
func TestHugeJobsCount(t *testing.T) {
	f, engine := redistest.Start(t, sidekiq.Preset.Redis, driver.RedisOptions{}, newFixture)
	args := strings.Repeat(`{"queue":[`, 800_000) + strings.Repeat("]}", 800_000) + "," + strings.Repeat("9", 6<<20)
	job := `{"args":[` + args + `],"queue":"mail","at":1}`
	f.Do("LPUSH", "queue:mail", job)
	f.Do("ZADD", "schedule", "1", job)
	f.Do("ZADD", "retry", "99999999999", strings.TrimSuffix(job, "}"))
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Scheduled: 1, Pool: &driver.Pool{}}, redistest.ButAges)
}

// What a process says of itself may be anything. Sums of it must not come out below zero: that would be refused, and with it
// the reading of every queue.
func TestProcessesThatSayTooMuchAreBounded(t *testing.T) {
	f, engine := redistest.Start(t, sidekiq.Preset.Redis, driver.RedisOptions{}, newFixture)
	const most = "9223372036854775807"
	capsules := `{"version":"8","capsules":{"a":{"concurrency":` + most + `,"weights":{"mail":1}},"b":{"concurrency":` + most + `,"weights":{"mail":1}}}}`
	for identity, info := range map[string]string{
		"one": capsules, "two": capsules, "three": `{"version":"8","queues":["mail"],"concurrency":` + most + `}`,
	} {
		f.Do("SADD", "processes", identity)
		f.Do("HSET", identity, "info", info, "busy", most, "quiet", "false")
	}
	f.Do("HSET", "three", "concurrency", most)
	q := redistest.ReadQueue(t, engine, "mail")
	if q.Running <= 0 || q.Pool == nil || q.Pool.Workers != 3 || q.Pool.Capacity <= 0 {
		t.Errorf("%+v, %+v", q, q.Pool)
	}
}
