package celery_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/celery"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

var abilities = storagetest.Abilities{Immediate: true}

func TestCeleryKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(celery.Preset.Redis, driver.RedisOptions{}, newFixture, abilities))
}

// open starts a server and returns a fixture and an engine of it.
func open(t *testing.T, options driver.RedisOptions) (fixture, *redis.Engine) {
	t.Helper()
	server := storagetest.StartRedis(t)
	return newFixture(t, server), redistest.Open(t, celery.Preset.Redis, options, server.URL())
}

func expect(t *testing.T, engine driver.Reader, want driver.Queue) {
	t.Helper()
	if diff := cmp.Diff(want, redistest.ReadQueue(t, engine, want.Name)); diff != "" {
		t.Error(diff)
	}
}

// Case 43.
func TestTasksOfAllPrioritiesCount(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.do("RPUSH", "celery", "a")
	f.do("RPUSH", "celery\x06\x163", "b", "c")
	f.do("RPUSH", "celery\x06\x169", "d")
	f.do("RPUSH", "celery\x06\x165", "no such step")
	f.do("RPUSH", "celery2", "of another queue")
	expect(t, engine, driver.Queue{Name: "celery", Known: true, Ready: 4})
}

func TestStepsSeparatorAndPrefixAreTheSources(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Prefix: "{app}:", PrioritySteps: []int{0, 5}, Separator: ":"})
	f.prefix = "{app}:"
	f.do("RPUSH", "{app}:mail", "a")
	f.do("RPUSH", "{app}:mail:5", "b", "c")
	f.do("RPUSH", "{app}:mail:3", "no such step")
	f.do("RPUSH", "mail", "of another application")
	f.do("SADD", "{app}:_kombu.binding.jobs", "mail.#:^mail\\..*?$:mail")
	f.hold("jobs", "mail.now", "W10=", 2)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 2})
}

func TestAnIdleQueueIsKnownByItsBinding(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Finish("mail", 2)
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	expect(t, engine, driver.Queue{Name: "nobody"})
	f.bind("celery.pidbox", "", "", "celery@host.celery.pidbox") // remote control, which is no queue
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mial"}}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(reading.Notes, "\n"); !strings.Contains(notes, `"mail"`) || strings.Contains(notes, "pidbox") {
		t.Errorf("notes = %q, want the name of the queue that there is", notes)
	}
}

func TestEveryQueueIsThoseThatTheSourceNames(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Queues: []string{"images", "mail", "nobody"}})
	f.Insert("mail", 1)
	f.Run("images", 2)
	f.Insert("unnamed", 4)
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{{Name: "images", Known: true, Running: 2}, {Name: "mail", Known: true, Ready: 1}}
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, reading.Queues, byName); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, steps := range map[string][]int{
		"is empty":       {},
		"no priority":    {0, 256},
		"-1":             {-1, 0},
		"comes after 6":  {0, 6, 3},
		"each step once": {0, 3, 3},
	} {
		_, err := redis.Open(redis.Config{
			URL: func() (string, error) { return "redis://127.0.0.1", nil }, Redis: celery.Preset.Redis,
			Options: driver.RedisOptions{PrioritySteps: steps},
		})
		if err == nil || !strings.HasPrefix(err.Error(), "prioritySteps: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("steps %v: %v, want an error that names the key and says %q", steps, err, want)
		}
	}
	if err := celery.Preset.Redis.Check(&driver.RedisOptions{}); err != nil {
		t.Errorf("no options: %v, want none: the defaults stand for them", err)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	for _, key := range []string{"celery\x06\x166", "unacked"} {
		f, engine := open(t, driver.RedisOptions{})
		f.do("SET", key, "x")
		want := driver.Want{Queue: "celery"}
		reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
		if err == nil {
			err = reading.Failed[want]
		}
		known, ok := errors.AsType[*driver.Error](err)
		if !ok || known.Kind != driver.Schema || !strings.Contains(known.Message, key[:6]) {
			t.Errorf("Read = %+v, %v; want a schema error that names %q", reading, err, key)
		}
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 1)
	f.Run("mail", 1)
	f.bind("jobs", "mail.#", "^mail\\..*?$", "mail")
	f.hold("jobs", "mail.now", "W10=", 1)
	ask := driver.RedisAsk{RedisOptions: celery.Preset.Redis.Defaults, Queue: "mail"}
	storagetest.Golden(t, filepath.Join("testdata", "commands.golden"), redistest.Commands(t, server, celery.Preset.Redis, ask))
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("celery", 2)
	f.do("LPUSH", "celery\x06\x163", "x")
	f.Run("celery", 3)
	f.bind("jobs", "a", "", "celery")
	f.hold("jobs", "a", "W10=", 1)
	engine := redistest.Open(t, celery.Preset.Redis, driver.RedisOptions{}, redistest.User(t, server))
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "celery"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]driver.Queue{{Name: "celery", Known: true, Ready: 3, Running: 4}}, reading.Queues); diff != "" {
		t.Error(diff)
	}
	if len(reading.Notes)+len(reading.Failed) > 0 {
		t.Errorf("notes: %q, failed: %v, want none", reading.Notes, reading.Failed)
	}
}
