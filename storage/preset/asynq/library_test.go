package asynq_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	hibiken "github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/asynq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Asynq's own client and servers.
type library struct {
	tb        testing.TB
	server    *storagetest.RedisServer
	redis     hibiken.RedisConnOpt
	client    *hibiken.Client
	inspector *hibiken.Inspector
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	return newLibraryAt(tb, server, hibiken.RedisClientOpt{Addr: server.Addr()})
}

func newLibraryAt(tb testing.TB, server *storagetest.RedisServer, opt hibiken.RedisConnOpt) library {
	s := library{tb, server, opt, hibiken.NewClient(opt), hibiken.NewInspector(opt)}
	tb.Cleanup(func() {
		s.must(s.client.Close())
		s.must(s.inspector.Close())
	})
	return s
}

func (s library) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s library) enqueue(queue string, n int, options ...hibiken.Option) (ids []string) {
	s.tb.Helper()
	for range n {
		info, err := s.client.Enqueue(hibiken.NewTask("mail", nil), append(options, hibiken.Queue(queue))...)
		s.must(err)
		ids = append(ids, info.ID)
	}
	return ids
}

// serve runs a server of n tasks at once that leaves alone what is for later. It ends with the test, if stop is not
// called before.
func (s library) serve(queue string, n int, change func(*hibiken.Config), handle func(context.Context) error) (stop func()) {
	s.tb.Helper()
	config := hibiken.Config{
		Concurrency: n, Queues: map[string]int{queue: 1}, TaskCheckInterval: 10 * time.Millisecond,
		DelayedTaskCheckInterval: time.Hour, LogLevel: hibiken.FatalLevel,
	}
	if change != nil {
		change(&config)
	}
	server := hibiken.NewServer(s.redis, config)
	s.must(server.Start(hibiken.HandlerFunc(func(ctx context.Context, _ *hibiken.Task) error { return handle(ctx) })))
	ended := false
	stop = func() {
		if !ended {
			ended = true
			server.Shutdown()
		}
	}
	s.tb.Cleanup(stop)
	return stop
}

// await waits until Asynq says so of the queue.
func (s library) await(queue string, condition func(*hibiken.QueueInfo) bool) {
	s.tb.Helper()
	var last *hibiken.QueueInfo
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		info, err := s.inspector.GetQueueInfo(queue)
		s.must(err)
		if last = info; condition(info) {
			return
		}
	}
	s.tb.Fatalf("queue %s did not become what it should in time: %+v", queue, last)
}

// work lets a server deal with n tasks, and ends it when Asynq says that they are where they belong.
func (s library) work(
	queue string, n int, change func(*hibiken.Config), handle func(context.Context) error, where func(*hibiken.QueueInfo) int,
	options ...hibiken.Option,
) {
	s.tb.Helper()
	s.enqueue(queue, n, options...)
	before, err := s.inspector.GetQueueInfo(queue)
	s.must(err)
	stop := s.serve(queue, n, change, handle)
	s.await(queue, func(info *hibiken.QueueInfo) bool { return where(info) == where(before)+n })
	stop()
}

func (s library) Insert(queue string, n int) { s.enqueue(queue, n) }

func (s library) Schedule(queue string, n int, in time.Duration) {
	s.tb.Helper()
	// The client takes what is due for pending: let time go by.
	ids := s.enqueue(queue, n, hibiken.ProcessIn(max(in, time.Minute)))
	if in < time.Minute {
		s.age("scheduled", queue, ids, in)
	}
}

// age makes tasks of a sorted set due after in.
func (s library) age(set, queue string, ids []string, in time.Duration) {
	s.tb.Helper()
	for _, id := range ids {
		s.server.Do(s.tb, "ZADD", key(queue, set), "XX", strconv.FormatInt(time.Now().Add(in).Unix(), 10), id)
	}
}

func (s library) Pause(queue string) {
	s.tb.Helper()
	for _, id := range s.enqueue(queue, 1) { // which lists the queue
		s.must(s.inspector.DeleteTask(queue, id))
	}
	s.must(s.inspector.PauseQueue(queue))
}

func (s library) Run(queue string, n int) {
	s.tb.Helper()
	s.enqueue(queue, n)
	free := make(chan struct{})
	s.serve(queue, n, nil, func(context.Context) error {
		<-free
		return nil
	})
	s.tb.Cleanup(func() { close(free) })
	s.await(queue, func(info *hibiken.QueueInfo) bool { return info.Active == n })
}

func (s library) Orphan(string, int, time.Duration) {
	s.tb.Fatal("Asynq's servers leave no task for good")
}

var errLater = errors.New("later")

func (s library) Fail(queue string, n int, in time.Duration) {
	s.tb.Helper()
	s.work(queue, n, func(c *hibiken.Config) {
		c.RetryDelayFunc = func(int, error, *hibiken.Task) time.Duration { return in }
	}, func(context.Context) error { return errLater }, func(info *hibiken.QueueInfo) int { return info.Retry })
}

func (s library) Snooze(queue string, n int, in time.Duration) {
	s.tb.Helper()
	s.work(queue, n, func(c *hibiken.Config) {
		c.RetryDelayFunc = func(int, error, *hibiken.Task) time.Duration { return in }
		c.IsFailure = func(error) bool { return false }
	}, func(context.Context) error { return errLater }, func(info *hibiken.QueueInfo) int { return info.Retry })
}

func (s library) Cancel(queue string, n int) {
	s.tb.Helper()
	for _, id := range s.enqueue(queue, n) {
		s.must(s.inspector.ArchiveTask(queue, id))
	}
}

func (s library) Finish(queue string, n int) {
	s.tb.Helper()
	s.work(queue, n, nil, func(context.Context) error { return nil },
		func(info *hibiken.QueueInfo) int { return info.Completed }, hibiken.Retention(time.Hour))
}

func TestAsynqItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(asynq.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

func TestASampleIsWhatAsynqsInspectorSays(t *testing.T) {
	s, engine := redistest.Start(t, asynq.Preset.Redis, driver.RedisOptions{}, newLibrary)
	s.Finish("mail", 5)
	s.Fail("mail", 4, time.Hour)
	s.Cancel("mail", 3)
	s.Run("mail", 2)
	s.Insert("mail", 7)
	s.Schedule("mail", 6, time.Hour)
	s.enqueue("mail", 9, hibiken.Group("daily"))

	info, err := s.inspector.GetQueueInfo("mail")
	s.must(err)
	want := driver.Queue{
		Name: "mail", Known: true, Ready: int64(info.Pending + info.Groups), Running: int64(info.Active),
		Scheduled: int64(info.Scheduled + info.Retry),
	}
	servers, err := s.inspector.Servers()
	s.must(err)
	want.Pool = &driver.Pool{Workers: int64(len(servers)), Capacity: 2}
	got := redistest.Expect(t, engine, want, redistest.ButAges)
	if want.Ready != 8 || want.Running != 2 || want.Scheduled != 10 || len(servers) != 1 {
		t.Errorf("Asynq says %+v, %d servers", info, len(servers))
	}
	redistest.Near(t, "oldest", got.Oldest, info.Latency)

	s.must(s.inspector.PauseQueue("mail"))
	want.Ready, want.Paused = 0, true
	redistest.Expect(t, engine, want, redistest.ButAges)
}

// What the preset calls ready because its lease has ended, a server takes up when it starts.
func TestAsynqRecoversWhatItsServersLeftBehind(t *testing.T) {
	s, engine := redistest.Start(t, asynq.Preset.Redis, driver.RedisOptions{}, newLibrary)
	ids := s.enqueue("mail", 3)
	for range ids { // as a server does that dies then
		s.server.Do(t, "RPOPLPUSH", key("mail", "pending"), key("mail", "active"))
	}
	for i, age := range []time.Duration{lease + time.Second, lease + time.Second, 0} {
		s.server.Do(t, "ZADD", key("mail", "lease"), strconv.FormatInt(time.Now().Add(-age).Unix(), 10), ids[i])
	}
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 1})
	stop := s.serve("mail", 1, func(c *hibiken.Config) {
		c.RetryDelayFunc = func(int, error, *hibiken.Task) time.Duration { return time.Hour }
	}, func(context.Context) error { return nil })
	s.await("mail", func(info *hibiken.QueueInfo) bool { return info.Retry == 2 })
	stop()
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 1, Scheduled: 2})
}

// A group is one task when it has been aggregated, and nobody does that without a server.
func TestAsynqMakesAGroupOneTask(t *testing.T) {
	s, engine := redistest.Start(t, asynq.Preset.Redis, driver.RedisOptions{}, newLibrary)
	s.enqueue("mail", 5, hibiken.Group("daily"))
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
	begun, free := make(chan struct{}), make(chan struct{})
	s.serve("mail", 1, func(c *hibiken.Config) {
		c.GroupGracePeriod, c.GroupMaxSize = time.Second, 5
		c.GroupAggregator = hibiken.GroupAggregatorFunc(func(_ string, tasks []*hibiken.Task) *hibiken.Task {
			begun <- struct{}{}
			<-free
			return hibiken.NewTask("mails", []byte{byte(len(tasks))}, hibiken.Queue("mail"), hibiken.Retention(time.Hour))
		})
	}, func(context.Context) error { return nil })
	<-begun
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 1})
	close(free)
	s.await("mail", func(info *hibiken.QueueInfo) bool { return info.Completed == 1 })
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
}

// Asynq's keys have the queue's name in braces, so that each queue is on one node.
func TestAsynqOnAClusterIsReadNodeByNode(t *testing.T) {
	cluster := storagetest.StartRedisCluster(t)
	s := newLibraryAt(t, nil, hibiken.RedisClusterClientOpt{Addrs: cluster.Addrs()})
	engine := redistest.Open(t, asynq.Preset.Redis, driver.RedisOptions{}, "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	var want []driver.Queue
	for i := range 9 {
		queue := fmt.Sprintf("mail-%d", i)
		s.enqueue(queue, i+1)
		s.enqueue(queue, 1, hibiken.ProcessIn(time.Hour))
		want = append(want, driver.Queue{Name: queue, Known: true, Ready: int64(i + 1), Scheduled: 1})
	}
	s.Run("running", 2)
	want = append(want, driver.Queue{Name: "running", Known: true, Running: 2})
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues, redistest.ButWorkers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&driver.Pool{Workers: 1, Capacity: 2}, redistest.ReadQueue(t, engine, "running").Pool); diff != "" {
		t.Error(diff)
	}
}
