package celery_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	return redistest.Start(t, celery.Preset.Redis, options, newFixture)
}

// Case 43.
func TestTasksOfAllPrioritiesCount(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.do("RPUSH", "celery", "a")
	f.do("RPUSH", "celery\x06\x163", "b", "c")
	f.do("RPUSH", "celery\x06\x169", "d")
	f.do("RPUSH", "celery\x06\x165", "no such step")
	f.do("RPUSH", "celery2", "of another queue")
	redistest.Expect(t, engine, driver.Queue{Name: "celery", Known: true, Ready: 4})
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
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 2})
}

func TestAnIdleQueueIsKnownByItsBinding(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Finish("mail", 2)
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true})
	redistest.Expect(t, engine, driver.Queue{Name: "nobody"})
	f.bind("celery.pidbox", "", "", "celery@host.celery.pidbox") // remote control, which is no queue
	if notes := redistest.Unknown(t, engine, "mial", `"mail"`); strings.Contains(notes, "pidbox") {
		t.Errorf("notes = %q, want the name of the queue that there is", notes)
	}
}

func TestEveryQueueIsThoseThatTheSourceNames(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Queues: []string{"images", "mail", "nobody"}})
	f.Insert("mail", 1)
	f.Run("images", 2)
	f.Insert("unnamed", 4)
	want := []driver.Queue{{Name: "images", Known: true, Running: 2}, {Name: "mail", Known: true, Ready: 1}}
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues); diff != "" {
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
		redistest.Fails(t, engine, driver.Want{Queue: "celery"}, driver.Schema, key[:6])
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 1)
	f.Run("mail", 1)
	f.bind("jobs", "mail.#", "^mail\\..*?$", "mail")
	f.hold("jobs", "mail.now", "W10=", 1)
	redistest.Golden(t, f.server, celery.Preset.Redis, driver.RedisAsk{Queue: "mail"})
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("celery", 2)
	f.do("LPUSH", "celery\x06\x163", "x")
	f.Run("celery", 3)
	f.bind("jobs", "a", "", "celery")
	f.hold("jobs", "a", "W10=", 1)
	want := []driver.Queue{{Name: "celery", Known: true, Ready: 3, Running: 4}}
	redistest.LeastPrivilege(t, f.server, celery.Preset.Redis, driver.RedisOptions{}, want, driver.Want{Queue: "celery"})
}
