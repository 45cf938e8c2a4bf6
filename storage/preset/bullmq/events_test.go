package bullmq_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func TestTheStreamOfEventsTellsWhereTrackingIsRefused(t *testing.T) {
	server := storagetest.StartRedis(t)
	url := redistest.User(t, server)
	server.Do(t, "ACL", "SETUSER", "leadsman", "-client|tracking")
	f, engine := newFixture(t, server, 6), redistest.Open(t, bullmq.Preset.Redis, driver.RedisOptions{}, url)
	redistest.Announced(t, engine, map[string]func(queue string){
		"inserted":  func(queue string) { f.Insert(queue, 1) },
		"scheduled": func(queue string) { f.Schedule(queue, 1, time.Hour) },
		"paused":    f.Pause,
	})
}
