package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A workable is a store whose jobs a test claims and finishes one by one, as the library's worker does, and a server that
// can be killed and frozen.
type workable interface {
	store
	process

	// schedule adds a job that is due later.
	schedule(queue string, in time.Duration)
	// claim has a worker take one ready job; a due one that nobody has promoted is taken as well.
	claim(t *testing.T, queue string)
	// finish has a worker be done with one job that it has claimed.
	finish(t *testing.T, queue string)
}

// A riverWork is River's rows, changed as River's worker changes them.
type riverWork struct {
	*riverStore
	*storagetest.Cluster
}

// Start is the cluster's.
func (s *riverWork) Start(tb testing.TB) {
	tb.Helper()
	s.Cluster.Start(tb)
	s.Reset()
}

func (s *riverWork) schedule(queue string, in time.Duration) { s.Schedule(queue, in) }

func (s *riverWork) claim(t *testing.T, queue string) {
	t.Helper()
	s.changeOne(t, `UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = '{worker}'
		WHERE id = (SELECT id FROM river_job WHERE queue = $1 AND state IN ('available', 'scheduled') AND scheduled_at <= now() LIMIT 1)`, queue)
}

func (s *riverWork) finish(t *testing.T, queue string) {
	t.Helper()
	s.changeOne(t, `UPDATE river_job SET state = 'completed', finalized_at = now()
		WHERE id = (SELECT id FROM river_job WHERE queue = $1 AND state = 'running' LIMIT 1)`, queue)
}

func (s *riverWork) changeOne(t *testing.T, statement, queue string) {
	t.Helper()
	if n := s.Exec(statement, queue); n != 1 {
		t.Fatalf("%d jobs of %s were changed, want 1", n, queue)
	}
}

// An asynqWork is Asynq's keys, changed as Asynq's worker changes them.
type asynqWork struct {
	*asynqStore
	*storagetest.RedisServer
}

func (s *asynqWork) schedule(queue string, in time.Duration) {
	s.Enqueue(asynq.Queue(queue), asynq.ProcessIn(in))
}

func (s *asynqWork) claim(t *testing.T, queue string) {
	t.Helper()
	key := func(name string) string { return "asynq:{" + queue + "}:" + name }
	now := fmt.Sprint(time.Now().Unix())
	due, err := s.Do(t, "ZRANGEBYSCORE", key("scheduled"), "-inf", now).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range due { // Asynq's forwarder, which is a part of its workers
		s.Do(t, "LPUSH", key("pending"), id)
		s.Do(t, "ZREM", key("scheduled"), id)
		s.Do(t, "HSET", key("t:"+id), "state", "pending")
	}
	id, err := s.Do(t, "LMOVE", key("pending"), key("active"), "RIGHT", "LEFT").ToString()
	if err != nil {
		t.Fatalf("no task of %s is pending: %v", queue, err)
	}
	s.Do(t, "ZADD", key("lease"), fmt.Sprint(time.Now().Add(time.Hour).Unix()), id)
	s.Do(t, "HSET", key("t:"+id), "state", "active")
}

func (s *asynqWork) finish(t *testing.T, queue string) {
	t.Helper()
	key := func(name string) string { return "asynq:{" + queue + "}:" + name }
	id, err := s.Do(t, "RPOP", key("active")).ToString()
	if err != nil {
		t.Fatalf("no task of %s is active: %v", queue, err)
	}
	s.Do(t, "ZREM", key("lease"), id)
	s.Do(t, "DEL", key("t:"+id))
}

// freeze and thaw are signals.
func freeze(t *testing.T, p process) { p.Signal(t, syscall.SIGSTOP) }
func thaw(t *testing.T, p process)   { p.Signal(t, syscall.SIGCONT) }
