package redis_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
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

// returns waits until a watcher that has lost its server has it again: it signals all, and then each insert.
func returns(t *testing.T, engine *redis.Engine, s *sink, before seen, insert func()) {
	t.Helper()
	began := time.Now()
	s.wait(t, "tracking again, and a signal for all", func(now seen) bool {
		return now.mode == driver.ModeTracking && now.signals[""] > before.signals[""]
	})
	t.Logf("signalled %s after the return", time.Since(began))
	eventually(t, "the queue is read", func() bool { _, err := tryRead(t, engine, "mail"); return err == nil })
	before = s.now()
	insert()
	s.wait(t, "a signal for the insert", func(now seen) bool {
		return now.signals["mail"]+now.signals[""] > before.signals["mail"]+before.signals[""]
	})
}

func TestWatchOutlivesAKilledConnection(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t)
	engine, shop := open(t, server.URL()), shopOf(t, server)
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	shop.Insert("mail", 1)
	for range 5 {
		neverZero(t, engine, "mail", 1)
		before := s.now()
		server.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		returns(t, engine, s, before, func() { server.Do(t, "RPUSH", "shop:mail:wait", "1"); server.Do(t, "RPOP", "shop:mail:wait") })
	}
	if modes := s.now().modes; len(modes) > 1 {
		t.Logf("modes: %q", modes) // it may have been quick enough to tell nobody
	}
}

func TestWatchOutlivesARestartAndAFlush(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t)
	engine, shop := open(t, server.URL()), shopOf(t, server)
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	shop.Insert("mail", 1)
	read(t, engine, "mail")

	before := s.now()
	server.Do(t, "FLUSHALL")
	s.wait(t, "a signal for all", func(now seen) bool { return now.signals[""] > before.signals[""] })
	if got := ready(t, engine, "mail"); got != 0 {
		t.Errorf("ready = %d after FLUSHALL, want 0", got)
	}

	server.Kill(t)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "not connected") })
	_, err := tryRead(t, engine, "mail")
	fails(t, err, driver.Unavailable, "refuse")
	before = s.now()
	server.Start(t)
	returns(t, engine, s, before, func() { shopOf(t, server).Insert("mail", 1) })
}

func TestReadOfAServerThatSleepsIsATimeout(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t, storagetest.WithConfig("enable-debug-command", "yes"))
	engine, shop := open(t, server.URL()), shopOf(t, server)
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	shop.Insert("mail", 1)
	read(t, engine, "mail")
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
	before := s.now()
	<-asleep
	neverZero(t, engine, "mail", 1)
	_ = before
	s.is(t, driver.ModeTracking)
	read(t, engine, "mail")
	before = s.now()
	shop.Insert("mail", 1)
	s.wait(t, "a signal", func(now seen) bool {
		return now.signals["mail"]+now.signals[""] > before.signals["mail"]+before.signals[""]
	})
}

func TestWatchNoticesAServerThatIsStopped(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t)
	engine, shop := open(t, server.URL()), shopOf(t, server)
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	shop.Insert("mail", 1)
	read(t, engine, "mail")
	server.Signal(t, syscall.SIGSTOP)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll })
	before := s.now()
	server.Signal(t, syscall.SIGCONT)
	returns(t, engine, s, before, func() { shop.Insert("mail", 1) })
	neverZero(t, engine, "mail", 2)
}

func sentinelURL(set *storagetest.RedisSentinel) string {
	return "redis+sentinel://" + strings.Join(set.Addrs(), ",") + "/" + set.Master() + "/0"
}

// insertAt adds jobs at a server and waits until its replicas have them.
func insertAt(t *testing.T, server *storagetest.RedisServer, n, replicas int) {
	t.Helper()
	shopOf(t, server).Insert("mail", n)
	eventually(t, "the replicas have the jobs", func() bool {
		got, err := server.Do(t, "WAIT", string(rune('0'+replicas)), "1000").AsInt64()
		return err == nil && got >= int64(replicas)
	})
}

func TestSentinelFailOverIsFollowed(t *testing.T) {
	t.Parallel()
	set := storagetest.StartSentinel(t)
	engine := open(t, sentinelURL(set))
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	insertAt(t, set.Primary(t), 3, 1)
	neverZero(t, engine, "mail", 3)
	before := s.now()
	primary := set.FailOver(t) // the old one lives on, as a replica
	returns(t, engine, s, before, func() { insertAt(t, primary, 2, 0) })
	neverZero(t, engine, "mail", 5)
}

func TestSentinelsAreAskedWhenTheMasterDies(t *testing.T) {
	t.Parallel()
	set := storagetest.StartSentinel(t)
	engine := open(t, sentinelURL(set))
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
	insertAt(t, set.Primary(t), 3, 1)
	neverZero(t, engine, "mail", 3)
	before := s.now()
	primary := set.AwaitFailOver(t, set.KillPrimary(t))
	returns(t, engine, s, before, func() { insertAt(t, primary, 2, 0) })
	neverZero(t, engine, "mail", 5)
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
	s := watch(t, engine)
	s.is(t, driver.ModeTracking)
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
	node.Kill(t)
	cluster.AwaitFailOver(t, node)
	neverZero(t, engine, "mail", 3)
	eventually(t, "an insert is signalled", func() bool {
		read(t, engine, "mail")
		before := s.now()
		shop.do("LPUSH", "shop:mail:wait", "1")
		shop.do("LPOP", "shop:mail:wait")
		for range 200 {
			if now := s.now(); now.signals["mail"]+now.signals[""] > before.signals["mail"]+before.signals[""] {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	})
}

func TestReplicaThatHasLostItsMasterIsAnError(t *testing.T) {
	t.Parallel()
	primary := storagetest.StartRedis(t)
	replica := storagetest.StartRedis(t, storagetest.ReplicaOf(primary))
	engine := open(t, replica.URL())
	insertAt(t, primary, 2, 1)
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

// A proxy passes bytes to a server, and hangs up at a word that it does not like.
func proxy(t *testing.T, to, dislikes string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(client, to, dislikes) })
		}
	})
	return listener.Addr().String()
}

func pass(client net.Conn, to, dislikes string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer back.Wait()
	defer func() { _ = server.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil || bytes.Contains(b[:n], []byte(dislikes)) {
			return
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}

// Case 37.
func TestProxyThatHangsUpAtHelloIsReadWithoutIt(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t, storagetest.WithPassword("hunter2"))
	engine := open(t, strings.Replace(server.URL(), server.Addr(), proxy(t, server.Addr(), "HELLO"), 1))
	shopOf(t, server).Insert("mail", 2)
	s := watch(t, engine)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "HELLO") })
	neverZero(t, engine, "mail", 2)
}
