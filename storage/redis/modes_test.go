package redis_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// base is what every user of a shop may do.
var base = []string{
	"resetchannels", "-@all", "+ping", "+hello", "+auth", "+time", "+role", "+multi", "+exec", "%R~shop:*",
	"+sismember", "+sscan", "+llen", "+lindex", "+zcount", "+zcard", "+zrangebyscore",
}

// user makes a user with the base's permissions and more, and an engine for it with the preset.
func user(t *testing.T, server *storagetest.RedisServer, preset driver.Redis, more ...string) *redis.Engine {
	t.Helper()
	server.AddUser(t, "reader", "hunter2", append(append([]string{}, base...), more...)...)
	engine, err := redis.Open(redis.Config{URL: url(server.UserURL("reader", "hunter2")), Redis: &preset})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	return engine
}

// wakes makes sure that an insert is signalled in the given mode, each time.
func wakes(t *testing.T, server *storagetest.RedisServer, engine *redis.Engine, s *storagetest.Recorder, mode driver.Mode, announce func()) {
	t.Helper()
	shop := shopOf(t, server)
	s.AwaitWatch(t, mode)
	read(t, engine, "mail")
	for n := int64(1); n <= 3; n++ {
		before := s.Told()
		shop.Insert("mail", 1)
		if announce != nil {
			announce()
		}
		s.AwaitSignal(t, "mail", before)
		eventually(t, "the job is storagetest.Told", func() bool { return ready(t, engine, "mail") == n })
	}
}

// Cases 35 and 36: no EVAL, and no CLUSTER, SELECT or CONFIG.
func TestWatchTracksForAUserThatMayOnlyRead(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := user(t, server, shop, "+client|tracking")
	wakes(t, server, engine, storagetest.Watch(t, engine), driver.ModeTracking, nil)
	if notes := read(t, engine, "mail").Notes; len(notes) != 0 {
		t.Errorf("notes = %q, want none", notes)
	}
}

func TestWatchListensToTheLibraryWhereTrackingIsRefused(t *testing.T) {
	for name, event := range map[string]driver.RedisEvent{
		"a channel": {Channel: "shop:mail:bell"}, "a pattern": {Pattern: "shop:mail:b*"}, "a stream": {Stream: "shop:mail:news"},
	} {
		t.Run(name, func(t *testing.T) {
			server := storagetest.StartRedis(t)
			preset := shop
			preset.Events = func(_ *driver.RedisOptions, queue string) []driver.RedisEvent {
				if queue != "mail" {
					return nil
				}
				return []driver.RedisEvent{event}
			}
			engine := user(t, server, preset, "+subscribe", "+psubscribe", "+xread", "+xrevrange", "&shop:mail:bell", "&shop:mail:b*")
			wakes(t, server, engine, storagetest.Watch(t, engine), driver.ModeEvents, func() {
				if event.Stream != "" {
					server.Do(t, "XADD", event.Stream, "*", "event", "waiting")
				} else {
					server.Do(t, "PUBLISH", "shop:mail:bell", "ring")
				}
			})
		})
	}
}

func TestWatchTakesKeyspaceNotificationsWhereNothingBetterIs(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithConfig("notify-keyspace-events", "Kzls"))
	engine := user(t, server, shop, "+subscribe", "+config|get", "&*")
	wakes(t, server, engine, storagetest.Watch(t, engine), driver.ModeKeyspace, nil)
}

func TestWatchBelievesInKeyspaceNotificationsOnceItHeardOne(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithConfig("notify-keyspace-events", "KA"))
	engine := user(t, server, shop, "+subscribe", "&*")
	s := storagetest.Watch(t, engine)
	read(t, engine, "mail")
	s.AwaitMode(t, driver.ModeEdgePoll, "CONFIG GET is refused") // and nothing was heard
	eventually(t, "keyspace notifications", func() bool {
		shopOf(t, server).Insert("mail", 1)
		return s.Told().Mode == driver.ModeKeyspace
	})
}

func TestWatchSaysWhyItPolls(t *testing.T) {
	for name, test := range map[string]struct {
		events, reason string
		more           []string
	}{
		"all is refused":             {"KA", "+subscribe", nil},
		"notifications are off":      {"", "keyspace notifications are off", []string{"+config|get", "+subscribe", "&*"}},
		"a class is missing":         {"Kl", "set notify-keyspace-events to K", []string{"+config|get", "+subscribe", "&*"}},
		"channels are out of bounds": {"KA", "keyspace notifications: NOPERM", []string{"+config|get", "+subscribe"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := storagetest.StartRedis(t, storagetest.WithConfig("notify-keyspace-events", test.events))
			engine := user(t, server, shop, test.more...)
			s := storagetest.Watch(t, engine)
			read(t, engine, "mail")
			s.AwaitMode(t, driver.ModeEdgePoll, "CLIENT TRACKING")
			if name == "all is refused" {
				return
			}
			s.AwaitMode(t, driver.ModeEdgePoll, test.reason)
		})
	}
}

func TestWatchTracksOnceItMay(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := user(t, server, shop)
	engine.Hurry()
	s := storagetest.Watch(t, engine)
	s.AwaitMode(t, driver.ModeEdgePoll, "")
	server.Do(t, "ACL", "SETUSER", "reader", "+client|tracking")
	wakes(t, server, engine, s, driver.ModeTracking, nil)
}

// Case 37.
func TestOldServersAreReadWithoutHello(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithConfig("rename-command", "HELLO", ""))
	engine := open(t, server.URL())
	shopOf(t, server).Insert("mail", 2)
	if got := ready(t, engine, "mail"); got != 2 {
		t.Errorf("ready = %d, want 2", got)
	}
	s := storagetest.Watch(t, engine)
	s.AwaitMode(t, driver.ModeEdgePoll, "")
}

func TestProtocol2IsSpokenWhereTheURLSaysSo(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithPassword("hunter2"))
	engine := open(t, server.URL()+"?protocol=2")
	shopOf(t, server).Insert("mail", 2)
	if got := read(t, engine, "").Queues; len(got) != 1 || got[0].Ready != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestCommandsThatReadsCanDoWithoutAreNoted(t *testing.T) {
	server := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "hunter2", append(append([]string{}, base...), "-multi", "-role", "-time", "-lindex", "+client|tracking")...)
	engine := open(t, server.UserURL("reader", "hunter2"))
	shopOf(t, server).Insert("mail", 2)
	read(t, engine, "mail")
	reading := read(t, engine, "mail")
	if q := reading.Queues[0]; q.Ready != 2 || q.Oldest != 0 {
		t.Errorf("got %+v, want two jobs of no known age", q)
	}
	notes := strings.Join(reading.Notes, "\n")
	for _, want := range []string{"grant +multi", "grant +role", "grant +time", "grant +lindex"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
}

func TestOneQueueThatCannotBeReadLeavesTheOthersAlone(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	shopOf(t, server).Insert("mail", 2)
	server.Do(t, "SET", "shop:bad:wait", "no list")
	reading := read(t, engine, "mail", "bad")
	if len(reading.Queues) != 1 || reading.Queues[0].Ready != 2 {
		t.Errorf("got %+v, want mail with two jobs", reading.Queues)
	}
	fails(t, reading.Failed[driver.Want{Queue: "bad"}], driver.Schema, `"shop:bad:wait"`, "WRONGTYPE")
}

func TestOneQueueThatIsForbiddenLeavesTheOthersAlone(t *testing.T) {
	server := storagetest.StartRedis(t)
	server.AddUser(t, "reader", "hunter2", append(append([]string{}, base...), "resetkeys", "%R~shop:names", "%R~shop:mail:*", "+client|tracking")...)
	engine := open(t, server.UserURL("reader", "hunter2"))
	shopOf(t, server).Insert("mail", 2)
	reading := read(t, engine, "secret", "mail")
	if len(reading.Queues) != 1 || reading.Queues[0].Ready != 2 {
		t.Errorf("got %+v, want mail with two jobs", reading.Queues)
	}
	fails(t, reading.Failed[driver.Want{Queue: "secret"}], driver.Denied, "NOPERM")
}
