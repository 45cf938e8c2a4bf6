package bullmq_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/bulltest"
)

// layouts are the versions of BullMQ whose keys differ, and a release of each.
var layouts = map[int]string{3: "3.16.2", 4: "4.18.3", 5: "5.81.5", 6: "6.7.0"}

// A fixture writes the keys that the scripts of BullMQ write, in one layout.
type fixture struct {
	tb     testing.TB
	redis  *storagetest.RedisServer
	layout int
	prefix string
	now    func() time.Time
	last   int // id
}

var _ storagetest.Fixture = (*fixture)(nil)

func newFixture(tb testing.TB, server *storagetest.RedisServer, layout int) *fixture {
	return &fixture{tb: tb, redis: server, layout: layout, prefix: "bull", now: time.Now}
}

// A script is the commands of one step, which are carried out in order.
type script struct {
	base     string
	commands [][]string
}

// do adds a command on a key of the queue.
func (s *script) do(command, key string, args ...string) {
	s.commands = append(s.commands, append([]string{command, s.base + key}, args...))
}

// event adds an entry to the queue's stream.
func (s *script) event(name, id string) {
	s.do("XADD", "events", "MAXLEN", "~", "10000", "*", "event", name, "jobId", id)
}

// open begins a step as opening the queue does: with its settings.
func (f *fixture) open(queue string) *script {
	s := &script{base: f.prefix + ":" + queue + ":"}
	s.do("HSET", "meta", "opts.maxLenEvents", "10000", "version", "bullmq:"+layouts[f.layout])
	return s
}

// run carries out a step as one transaction, as a script is.
func (f *fixture) run(s *script) {
	f.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := f.redis.Client(f.tb)
	var pipeline []rueidis.Completed
	for _, words := range slices.Concat([][]string{{"MULTI"}}, s.commands, [][]string{{"EXEC"}}) {
		pipeline = append(pipeline, client.B().Arbitrary(words...).Build())
	}
	for _, reply := range client.DoMulti(ctx, pipeline...) {
		if err := reply.Error(); err != nil {
			f.tb.Fatal(err)
		}
	}
}

// add adds a job's hash, with other fields as given, and returns its id.
func (f *fixture) add(s *script, at time.Time, delay time.Duration, fields map[string]string) string {
	f.last++
	id := strconv.Itoa(f.last)
	usual := map[string]string{
		"name": "mail", "data": `{"to":"x"}`, "opts": fmt.Sprintf(`{"attempts":0,"delay":%d}`, delay.Milliseconds()),
		"timestamp": bulltest.Millis(at), "delay": strconv.FormatInt(delay.Milliseconds(), 10), "priority": "0",
	}
	s.do("INCR", "id")
	s.do("HSET", id, bulltest.Hash(usual, fields)...)
	return id
}

// target is the list that jobs are put into: while the queue is paused, another one before 6.
func (f *fixture) target(s *script) string {
	if paused, _ := f.redis.Do(f.tb, "HEXISTS", s.base+"meta", "paused").AsBool(); paused && f.layout < 6 {
		return "paused"
	}
	return "wait"
}

// mark tells workers of a job: since 5 by a key, before that by an element of an empty list.
func (f *fixture) mark(s *script, target, due string) {
	length, _ := f.redis.Do(f.tb, "LLEN", s.base+target).AsInt64()
	switch {
	case f.layout >= 5:
		s.do("ZADD", "marker", due, "0")
	case length == 0 && target == "wait":
		s.do("LPUSH", target, "0:"+due)
	}
}

// Insert implements storagetest.Fixture. Every third job has a priority.
func (f *fixture) Insert(queue string, n int) {
	f.tb.Helper()
	for i := range n {
		f.insert(queue, 0, []int{0, 0, 5}[i%3])
	}
}

// insert adds a job that has waited for some time; a priority of 0 is none.
func (f *fixture) insert(queue string, age time.Duration, priority int) {
	f.tb.Helper()
	s := f.open(queue)
	f.wait(s, f.add(s, f.now().Add(-age), 0, nil), priority)
	f.run(s)
}

// wait puts a job where those that can be started are.
func (f *fixture) wait(s *script, id string, priority int) {
	target := f.target(s)
	if priority == 0 {
		s.do("LPUSH", target, id)
	} else {
		f.prioritize(s, id, target, priority)
	}
	if f.layout >= 5 {
		f.mark(s, target, "0")
	}
	s.event("waiting", id)
}

// prioritize puts a job where those with a priority are: since 4 a set of their own, before that the list's end.
func (f *fixture) prioritize(s *script, id, target string, priority int) {
	s.do("HSET", id, "priority", strconv.Itoa(priority))
	if f.layout < 4 {
		s.do("ZADD", "priority", strconv.Itoa(priority), id)
		s.do("RPUSH", target, id)
		return
	}
	if f.layout == 4 {
		f.mark(s, target, "0")
	}
	s.do("INCR", "pc")
	s.do("ZADD", "prioritized", strconv.Itoa(priority<<32+f.last), id)
}

// Schedule implements storagetest.Fixture.
func (f *fixture) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.delay(queue, n, in, nil)
}

func (f *fixture) delay(queue string, n int, in time.Duration, fields map[string]string) {
	f.tb.Helper()
	s, due := f.open(queue), f.now().Add(in)
	for i := range n {
		id := f.add(s, due.Add(-max(in, time.Second)), max(in, time.Second), fields)
		s.do("ZADD", "delayed", strconv.FormatInt(due.UnixMilli()<<12+int64(i), 10), id)
		s.event("delayed", id)
	}
	f.mark(s, f.target(s), bulltest.Millis(due))
	f.run(s)
}

// Pause implements storagetest.Fixture.
func (f *fixture) Pause(queue string) {
	f.tb.Helper()
	s := f.open(queue)
	if waiting, _ := f.redis.Do(f.tb, "EXISTS", s.base+"wait").AsBool(); waiting && f.layout < 6 {
		s.do("RENAME", "wait", s.base+"paused")
	}
	s.do("HSET", "meta", "paused", "1")
	s.do("DEL", "marker")
	s.do("XADD", "events", "*", "event", "paused")
	f.run(s)
}

// Run implements storagetest.Fixture.
func (f *fixture) Run(queue string, n int) {
	f.tb.Helper()
	s, now := f.open(queue), f.now()
	for range n {
		id := f.add(s, now, 0, map[string]string{"processedOn": bulltest.Millis(now)})
		s.do("LPUSH", "active", id)
		s.do("SET", id+":lock", "token", "PX", "30000")
		s.event("active", id)
	}
	f.run(s)
}

// Orphan implements storagetest.Fixture: the jobs' locks have expired.
func (f *fixture) Orphan(queue string, n int, age time.Duration) {
	f.tb.Helper()
	s, then := f.open(queue), f.now().Add(-age)
	for range n {
		s.do("LPUSH", "active", f.add(s, then, 0, map[string]string{"processedOn": bulltest.Millis(then)}))
	}
	f.run(s)
}

// Fail implements storagetest.Fixture.
func (f *fixture) Fail(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.delay(queue, n, in, map[string]string{"processedOn": bulltest.Millis(f.now().Add(min(in, 0))), "atm": "1", "failedReason": "x"})
}

// Snooze implements storagetest.Fixture.
func (f *fixture) Snooze(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture: removed jobs leave nothing but the events.
func (f *fixture) Cancel(queue string, n int) {
	f.tb.Helper()
	s := f.open(queue)
	for range n {
		id := f.add(s, f.now(), 0, nil)
		s.do("DEL", id)
		s.event("removed", id)
	}
	f.run(s)
}

// Finish implements storagetest.Fixture: some complete, some fail for good, and one waits for its children.
func (f *fixture) Finish(queue string, n int) {
	f.tb.Helper()
	s, now := f.open(queue), f.now()
	for i := range n {
		id := f.add(s, now, 0, map[string]string{"finishedOn": bulltest.Millis(now)})
		s.do("ZADD", []string{"completed", "failed", "waiting-children"}[i%3], bulltest.Millis(now), id)
		s.event("completed", id)
	}
	f.run(s)
}
