package bullmq_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Case 33: a queue that is not known says which there are.
func TestAnUnknownQueueIsToldByItsNeighbours(t *testing.T) {
	f, engine := start(t, 6)
	f.Insert("Mail", 1)
	f.redis.Do(t, "LPUSH", "bull:raw:wait", "1") // and nothing else
	redistest.Unknown(t, engine, "mail", `"mail"`, `"bull"`, `"Mail"`, `"raw"`)
}

func TestQueuesAreKnownByTheirKeys(t *testing.T) {
	match, name := bullmq.Preset.Redis.Near(&driver.RedisOptions{Prefix: "my*[app]"})
	if want := `my\*\[app\]:*:[mw]*`; match != want {
		t.Errorf("match = %q, want %q", match, want)
	}
	for key, want := range map[string]string{
		"my*[app]:mail:meta": "mail", "my*[app]:mail:wait": "mail", "my*[app]:two words:meta": "two words", "my*[app]:a:b:meta": "a:b",
		"my*[app]:mail:waiting-children": "", "my*[app]:mail:w1": "", "my*[app]::meta": "", "my*[app]:meta": "", "other:mail:meta": "",
	} {
		if got, ok := name(key); got != want || ok != (want != "") {
			t.Errorf("%q is of queue %q, %t, want %q", key, got, ok, want)
		}
	}
}

func TestTheSourceNamesTheQueuesThatABareWantStandsFor(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server, 6)
	f.prefix = "{app}"
	f.Insert("mail", 2)
	f.Schedule("images", 1, time.Hour)
	f.Insert("others", 1)
	engine := redistest.Open(t, bullmq.Preset.Redis,
		driver.RedisOptions{Prefix: "{app}", Queues: []string{"mail", "images", "nobody"}}, server.URL())
	got := redistest.Read(t, engine, driver.Want{}).Queues
	want := []driver.Queue{{Name: "images", Known: true, Scheduled: 1}, {Name: "mail", Known: true, Ready: 2}}
	if diff := cmp.Diff(want, got, redistest.ButAges); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	bare := redistest.Open(t, bullmq.Preset.Redis, driver.RedisOptions{}, server.URL())
	redistest.Fails(t, bare, driver.Want{}, driver.Schema, "queues")
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t), 6)
	f.Insert("mail", 4)
	f.Schedule("mail", 1, -2*time.Hour)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 3)
	const ahead = 2 * time.Hour
	want := []driver.Queue{
		{Name: "mail", Known: true, Ready: 5, Running: 3, Scheduled: 1, Oldest: 2 * time.Hour, NextDue: time.Hour},
		{Name: "mail", Lookahead: ahead, Known: true, Ready: 6, Running: 3, Oldest: 2 * time.Hour},
	}
	engine := redistest.LeastPrivilege(t, f.redis, bullmq.Preset.Redis, driver.RedisOptions{}, want,
		driver.Want{Queue: "mail"}, driver.Want{Queue: "mail", Lookahead: ahead})
	redistest.Unknown(t, engine, "nobody", `there is "mail"`)
}
