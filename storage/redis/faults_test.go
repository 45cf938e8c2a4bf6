package redis_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// neverZero reads until it sees n jobs, and fails the test if it ever sees another number: errors are what a read in
// trouble may return.
func neverZero(t *testing.T, engine *redis.Engine, queue string, n int64) {
	t.Helper()
	eventually(t, "the queue can be read", func() bool {
		reading, err := tryRead(t, engine, queue)
		if err != nil || reading.Failed[driver.Want{Queue: queue}] != nil {
			return false
		}
		if got := reading.Queues[0].Ready; got != n {
			t.Fatalf("ready = %d, want %d or an error", got, n)
		}
		return true
	})
}

// watched starts a server, an engine of it that watches, and a shop with one job, which was read.
func watched(t *testing.T, options ...storagetest.RedisOption) (
	*storagetest.RedisServer, *redis.Engine, *shopper, *storagetest.Recorder,
) {
	t.Helper()
	t.Parallel()
	server := storagetest.StartRedis(t, options...)
	engine, shop := open(t, server.URL()), shopOf(t, server)
	s := storagetest.Watch(t, engine)
	s.AwaitWatch(t, driver.ModeTracking)
	shop.Insert("mail", 1)
	read(t, engine, "mail")
	return server, engine, shop, s
}

// returns waits until a watcher that has lost its server has it again: it signals all, and then each insert.
func returns(t *testing.T, engine *redis.Engine, s *storagetest.Recorder, before storagetest.Told, insert func()) {
	t.Helper()
	began := time.Now()
	s.Await(t, "tracking again, and a signal for all", func(now storagetest.Told) bool {
		return now.Mode == driver.ModeTracking && now.Signals[""] > before.Signals[""]
	})
	t.Logf("signalled %s after the return", time.Since(began))
	eventually(t, "the queue is read", func() bool { _, err := tryRead(t, engine, "mail"); return err == nil })
	before = s.Told()
	insert()
	s.AwaitSignal(t, "mail", before)
}

func TestWatchOutlivesAKilledConnection(t *testing.T) {
	server, engine, _, s := watched(t)
	for range 5 {
		neverZero(t, engine, "mail", 1)
		before := s.Told()
		server.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		returns(t, engine, s, before, func() { server.Do(t, "RPUSH", "shop:mail:wait", "1"); server.Do(t, "RPOP", "shop:mail:wait") })
	}
	if modes := s.Told().Modes; len(modes) > 1 {
		t.Logf("modes: %q", modes) // it may have been quick enough to tell nobody
	}
}

func TestWatchOutlivesARestartAndAFlush(t *testing.T) {
	server, engine, _, s := watched(t)

	before := s.Told()
	server.Do(t, "FLUSHALL")
	s.Await(t, "a signal for all", func(now storagetest.Told) bool { return now.Signals[""] > before.Signals[""] })
	if got := ready(t, engine, "mail"); got != 0 {
		t.Errorf("ready = %d after FLUSHALL, want 0", got)
	}

	server.Kill(t)
	s.AwaitMode(t, driver.ModeEdgePoll, "not connected")
	_, err := tryRead(t, engine, "mail")
	fails(t, err, driver.Unavailable, "refuse")
	before = s.Told()
	server.Start(t)
	returns(t, engine, s, before, func() { shopOf(t, server).Insert("mail", 1) })
}

func TestReadOfAServerThatSleepsIsATimeout(t *testing.T) {
	server, engine, shop, s := watched(t, storagetest.WithConfig("enable-debug-command", "yes"))
	asleep := make(chan struct{})
	go func() {
		defer close(asleep)
		server.Do(t, "DEBUG", "SLEEP", "4")
	}()
	eventually(t, "a read fails", func() bool {
		_, err := tryRead(t, engine, "mail")
		if err != nil {
			fails(t, err, driver.Timeout)
		}
		return err != nil
	})
	<-asleep
	neverZero(t, engine, "mail", 1)
	s.AwaitWatch(t, driver.ModeTracking)
	read(t, engine, "mail")
	before := s.Told()
	shop.Insert("mail", 1)
	s.AwaitSignal(t, "mail", before)
}

func TestWatchNoticesAServerThatIsStopped(t *testing.T) {
	server, engine, shop, s := watched(t)
	server.Signal(t, syscall.SIGSTOP)
	s.AwaitMode(t, driver.ModeEdgePoll, "")
	before := s.Told()
	server.Signal(t, syscall.SIGCONT)
	returns(t, engine, s, before, func() { shop.Insert("mail", 1) })
	neverZero(t, engine, "mail", 2)
}

func TestCloseDoesNotWaitForAServerThatAnswersNoMore(t *testing.T) {
	server, engine, shop, s := watched(t)
	shop.Insert("mail", 1)
	read(t, engine, "mail")
	server.Signal(t, syscall.SIGSTOP)
	s.AwaitMode(t, driver.ModeEdgePoll, "")
	storagetest.CloseInTime(t, engine)
}

func sentinelURL(set *storagetest.RedisSentinel) string {
	return "redis+sentinel://" + strings.Join(set.Addrs(), ",") + "/" + set.Master() + "/0"
}

// follows makes sure that an engine follows a set of servers from one primary to the next.
func follows(t *testing.T, next func(*storagetest.RedisSentinel) *storagetest.RedisServer) {
	t.Helper()
	t.Parallel()
	set := storagetest.StartSentinel(t)
	engine := open(t, sentinelURL(set))
	s := storagetest.Watch(t, engine)
	s.AwaitWatch(t, driver.ModeTracking)
	shopOf(t, set.Primary(t)).Insert("mail", 3)
	neverZero(t, engine, "mail", 3)
	before := s.Told()
	primary := next(set)
	returns(t, engine, s, before, func() { shopOf(t, primary).Insert("mail", 2) })
	neverZero(t, engine, "mail", 5)
}

func TestSentinelFailOverIsFollowed(t *testing.T) {
	follows(t, func(set *storagetest.RedisSentinel) *storagetest.RedisServer {
		return set.FailOver(t) // the old one lives on, as a replica
	})
}

func TestSentinelsAreAskedWhenTheMasterDies(t *testing.T) {
	follows(t, func(set *storagetest.RedisSentinel) *storagetest.RedisServer {
		return set.AwaitFailOver(t, set.KillPrimary(t))
	})
}

func TestSentinelsThatDoNotKnowTheMasterAreAnError(t *testing.T) {
	t.Parallel()
	set := storagetest.StartSentinel(t)
	engine := open(t, "redis+sentinel://"+strings.Join(set.Addrs(), ",")+"/nobody")
	_, err := tryRead(t, engine, "mail")
	fails(t, err, driver.Unavailable, `no master named "nobody"`)
}

func TestSentinelThatIsTakenForAServerIsAnError(t *testing.T) {
	t.Parallel()
	set := storagetest.StartSentinel(t)
	engine := open(t, "redis://"+set.Addrs()[0])
	_, err := tryRead(t, engine, "mail")
	if err == nil {
		t.Error("a sentinel was read as a server")
	}
}

// Case 40.
func TestClusterFailOverIsFollowed(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartRedisCluster(t, storagetest.WithReplicas(1))
	engine := open(t, "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	s := storagetest.Watch(t, engine)
	s.AwaitWatch(t, driver.ModeTracking)
	shop := &shopper{t, func(tb testing.TB, command ...string) {
		tb.Helper()
		if err := cluster.Do(tb, command...).Error(); err != nil {
			tb.Fatal(err)
		}
	}}
	names := []string{"mail", "{tagged}", "images"}
	for _, name := range names {
		shop.Insert(name, 3)
	}
	for _, name := range names {
		neverZero(t, engine, name, 3)
	}
	cluster.FailOver(t, cluster.NodeOf(t, "shop:mail:wait"))
	for _, name := range names {
		neverZero(t, engine, name, 3)
	}
	node := cluster.NodeOf(t, "shop:mail:wait")
	cluster.KillPrimary(t, node)
	cluster.AwaitFailOver(t, node)
	neverZero(t, engine, "mail", 3)
	eventually(t, "an insert is signalled", func() bool {
		read(t, engine, "mail")
		before := s.Told()
		shop.do("LPUSH", "shop:mail:wait", "1")
		shop.do("LPOP", "shop:mail:wait")
		for range 200 {
			if s.Told().Of("mail") > before.Of("mail") {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	})
}

// What is due in a cluster goes by a clock that is not asked for with each read.
func TestSetClockOfAClusterIsNoticed(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartRedisCluster(t, storagetest.WithOwnClock())
	engine := open(t, "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	off := func() time.Duration { return time.Until(read(t, engine, "mail").Now).Round(time.Minute) }
	if off := off(); off != 0 {
		t.Errorf("the clock is off by %s from the beginning", off)
	}
	for _, node := range cluster.Nodes() {
		node.SetClock(t, time.Hour)
	}
	eventually(t, "the clock is an hour ahead", func() bool { return off() == time.Hour })
}

func TestReplicaThatHasLostItsMasterIsAnError(t *testing.T) {
	t.Parallel()
	primary := storagetest.StartRedis(t)
	replica := storagetest.StartRedis(t, storagetest.ReplicaOf(primary))
	engine := open(t, replica.URL())
	shopOf(t, primary).Insert("mail", 2)
	primary.AwaitReplicas(t)
	reading := read(t, engine, "mail")
	if reading.Queues[0].Ready != 2 || !strings.Contains(strings.Join(reading.Notes, "\n"), "replica") {
		t.Errorf("got %+v, want two jobs and a note that this is a replica", reading)
	}
	primary.Kill(t)
	eventually(t, "an error", func() bool {
		_, err := tryRead(t, engine, "mail")
		if err != nil {
			fails(t, err, driver.Unavailable, "lost its master")
		}
		return err != nil
	})
}
