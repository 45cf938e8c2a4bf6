package asynq_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/asynq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func TestServersThatMayNotBeSeenAreUnknownAndNotNone(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 1)
	register(f, "mail", time.Minute)
	url := redistest.User(t, server)
	server.Do(t, "ACL", "SETUSER", "leadsman", "-get")
	got := redistest.ReadQueue(t, redistest.Open(t, asynq.Preset.Redis, driver.RedisOptions{}, url), "mail")
	if got.Ready != 1 || got.Pool != nil {
		t.Errorf("ready = %d, pool = %+v; want 1 and unknown", got.Ready, got.Pool)
	}
}
