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
