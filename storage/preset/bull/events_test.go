package bull_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func TestBullsChannelsTellWhereTrackingIsRefused(t *testing.T) {
	server := storagetest.StartRedis(t)
	url := redistest.User(t, server)
	server.Do(t, "ACL", "SETUSER", "leadsman", "-client|tracking",
		"&bull:inserted:waiting@*", "&bull:scheduled:waiting@*", "&bull:inserted:delayed", "&bull:scheduled:delayed")
	f, engine := newFixture(t, server), redistest.Open(t, bull.Preset.Redis, driver.RedisOptions{}, url)
	redistest.Announced(t, engine, map[string]func(queue string){
		"inserted":  func(queue string) { f.Insert(queue, 1) },
		"scheduled": func(queue string) { f.Schedule(queue, 1, time.Hour) },
	})
}
