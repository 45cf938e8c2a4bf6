package laravel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Laravel keeps no list of its queues in Redis.
var redisAbilities = storagetest.Abilities{Lookahead: true, Retries: true}

func TestLaravelOnRedisKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(laravel.Preset.Redis, driver.RedisOptions{}, newRedisFixture, redisAbilities))
}

func onRedis(t *testing.T, options driver.RedisOptions) (redisFixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, laravel.Preset.Redis, options, newRedisFixture)
}

func TestAJobOnRedisIsReadyAgainWhenItsReservationEnds(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{})
	f.Orphan("mail", 3, 10*time.Minute)
	f.Orphan("mail", 2, 30*time.Second)
	got := redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 2}, redistest.ButAges)
	redistest.Near(t, "oldest", got.Oldest, 510*time.Second)
}

func TestTheFirstJobOfTheListTellsTheAge(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{})
	horizon := strings.Replace(f.payload(0, 0, "null"), `"attempts"`, `"pushedAt":"`+f.seconds(-time.Hour)+`.5123","attempts"`, 1)
	for name, tt := range map[string]struct {
		payload string
		want    time.Duration
	}{
		"made by Laravel":    {f.payload(2*time.Hour, 0, "null"), 2 * time.Hour},
		"delayed":            {f.payload(2*time.Hour, 0, "3600"), time.Hour},
		"made by Horizon":    {horizon, time.Hour},
		"tried again":        {f.payload(2*time.Hour, 1, "null"), 0},
		"of an old release":  {`{"job":"Mail","data":{"createdAt":5},"id":"x","attempts":0}`, 0},
		"no JSON":            {`O:8:"App\Mail":0:{}`, 0},
		"broken off":         {f.payload(2*time.Hour, 0, "null")[:80], 0},
		"of the future":      {f.payload(-2*time.Hour, 0, "null"), 0},
		"with another clock": {`{"createdAt":"yesterday","attempts":0}`, 0},
	} {
		f.push(name, tt.payload)
		f.Insert(name, 1)
		got := redistest.ReadQueue(t, engine, name)
		if got.Ready != 2 || got.Oldest < 0 {
			t.Errorf("%s: %+v, want 2 ready", name, got)
		}
		redistest.Near(t, name+": oldest", got.Oldest, tt.want)
	}
}

// Case 33: the prefix is one word in another file.
func TestAnotherPrefixIsNamedWhenAQueueIsNotKnown(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{Prefix: "shop_database_"})
	f.prefix = "shop-database-"
	f.Insert("mail", 1)
	f.Schedule("mail", 1, time.Hour)
	f.prefix = "shop_database_"
	f.Insert("images", 1)
	f.do("SET", "shop_database_other", "x")
	redistest.Unknown(t, engine, "mail", `there is "images", "shop-database-queues:mail"`)
}

func TestAPrefixMayHoldQueues(t *testing.T) {
	for prefix, written := range map[string]string{"queues:": "", "shop-database-queues:": "shop-database-", "shop-database-": "shop-database-"} {
		f, engine := onRedis(t, driver.RedisOptions{Prefix: prefix})
		f.prefix = written
		f.Insert("mail", 2)
		if got := redistest.ReadQueue(t, engine, "mail"); got.Ready != 2 {
			t.Errorf("prefix %q: %+v, want 2 ready", prefix, got)
		}
	}
}

// On a cluster Laravel puts the name into braces, or the application does.
func TestANameInBracesIsTheKeyOnACluster(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{})
	f.do("RPUSH", "laravel_database_queues:{mail}", f.payload(0, 0, "null"))
	f.do("ZADD", "laravel_database_queues:{mail}:delayed", f.seconds(time.Hour), f.payload(0, 0, "3600"))
	redistest.Expect(t, engine, driver.Queue{Name: "{mail}", Known: true, Ready: 1, Scheduled: 1}, redistest.ButAges)
}

func TestEveryQueueIsThoseThatTheSourceNames(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{Queues: []string{"mail", "images", "empty"}})
	f.Insert("mail", 1)
	f.Run("images", 1)
	f.Insert("other", 1)
	want := []driver.Queue{{Name: "images", Known: true, Running: 1}, {Name: "mail", Known: true, Ready: 1}}
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues, redistest.ButAges); diff != "" {
		t.Error(diff)
	}
}

func TestEveryQueueOfASourceThatNamesNoneIsAnErrorThatSaysWhatToDo(t *testing.T) {
	f, engine := onRedis(t, driver.RedisOptions{})
	f.Insert("mail", 1)
	redistest.Fails(t, engine, driver.Want{}, driver.Schema, "queues")
}

func TestTheCommandsOnRedisAreTheReviewedOnes(t *testing.T) {
	f := newRedisFixture(t, storagetest.StartRedis(t))
	f.now = redistest.Noon
	f.Schedule("mail", 1, -time.Minute)
	f.Orphan("mail", 1, time.Hour)
	f.Insert("mail", 1)
	ask := driver.RedisAsk{Queue: "mail", Now: redistest.Noon(), Lookahead: time.Minute}
	redistest.Golden(t, f.server, laravel.Preset.Redis, ask)
}

func TestTheDocumentedUserOfRedisSuffices(t *testing.T) {
	f := newRedisFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Hour)
	f.Run("mail", 3)
	want := []driver.Queue{{Name: "mail", Known: true, Ready: 3, Running: 3, Oldest: time.Hour}}
	engine := redistest.LeastPrivilege(
		t, f.server, laravel.Preset.Redis, driver.RedisOptions{}, want, driver.Want{Queue: "mail"})
	redistest.Unknown(t, engine, "nobody", `there is "mail"`)
}
