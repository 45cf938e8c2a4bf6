package bullmq_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// read reads wants, exactly.
func read(t *testing.T, engine driver.Reader, wants ...driver.Want) driver.Reading {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: wants})
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// fails reads a queue and fails the test unless that is an error of the kind whose message says each of the parts.
func fails(t *testing.T, engine driver.Reader, queue string, kind driver.Kind, says ...string) {
	t.Helper()
	want := driver.Want{Queue: queue}
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err == nil {
		err = reading.Failed[want]
	}
	known, ok := errors.AsType[*driver.Error](err)
	if !ok || known.Kind != kind {
		t.Errorf("Read = %+v, %v; want an error of kind %s", reading, err, kind)
		return
	}
	for _, part := range says {
		if !strings.Contains(known.Message, part) {
			t.Errorf("%q does not say %q", known.Message, part)
		}
	}
}

// Case 33: a queue that is not known says which there are.
func TestAnUnknownQueueIsToldByItsNeighbours(t *testing.T) {
	f, engine := start(t, 6)
	f.Insert("Mail", 1)
	f.redis.Do(t, "LPUSH", "bull:raw:wait", "1") // and nothing else
	reading := read(t, engine, driver.Want{Queue: "mail"})
	if q := reading.Queues[0]; q.Known || q.Ready != 0 {
		t.Errorf("got %+v, want an unknown queue", q)
	}
	for _, part := range []string{`"mail"`, `"bull"`, `"Mail"`, `"raw"`} {
		if notes := strings.Join(reading.Notes, "\n"); !strings.Contains(notes, part) {
			t.Errorf("the notes %q do not say %s", notes, part)
		}
	}
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
	got := read(t, engine, driver.Want{}).Queues
	want := []driver.Queue{{Name: "images", Known: true, Scheduled: 1}, {Name: "mail", Known: true, Ready: 2}}
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, got, byName, compared); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	bare := redistest.Open(t, bullmq.Preset.Redis, driver.RedisOptions{}, server.URL())
	fails(t, bare, "", driver.Schema, "queues")
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server, 6)
	f.Insert("mail", 4)
	f.Schedule("mail", 1, -time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 3)
	engine := redistest.Open(t, bullmq.Preset.Redis, driver.RedisOptions{}, redistest.User(t, server))
	reading := read(t, engine, driver.Want{Queue: "mail"}, driver.Want{Queue: "mail", Lookahead: 2 * time.Hour})
	want := []driver.Queue{
		{Name: "mail", Known: true, Ready: 5, Running: 3, Scheduled: 1},
		{Name: "mail", Lookahead: 2 * time.Hour, Known: true, Ready: 6, Running: 3},
	}
	byLookahead := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Lookahead < b.Lookahead })
	if diff := cmp.Diff(want, reading.Queues, byLookahead, compared); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, q := range reading.Queues {
		if q.Oldest < time.Minute {
			t.Errorf("oldest = %s, want a minute and more", q.Oldest)
		}
	}
	if len(reading.Notes)+len(reading.Failed) > 0 {
		t.Errorf("notes: %q, failed: %v, want none", reading.Notes, reading.Failed)
	}
	// The documented permission to look for the names of queues.
	if notes := strings.Join(read(t, engine, driver.Want{Queue: "nobody"}).Notes, "\n"); !strings.Contains(notes, `there is "mail"`) {
		t.Errorf("the notes %q do not say which queue there is", notes)
	}
}
