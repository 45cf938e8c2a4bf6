package faults

import (
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A timed is a store whose server has a clock of its own, and whose backlog tells what a clock that is put wrong may spoil:
// in the queue busy, workers are at some of the jobs, and the rest wait.
type timed interface {
	store

	// setClock puts the server's clock off the machine's.
	setClock(t *testing.T, off time.Duration)
	// schedule adds a job that is due later, by this machine's clock.
	schedule(queue string, in time.Duration)
}

// held are the jobs of the backlog that workers are at.
const held = 2

// A timedRiver is River on PostgreSQL. Its backlog waits since two hours ago, so that it is due by a clock that is an hour
// late, too.
type timedRiver struct {
	*riverStore

	cluster *storagetest.Cluster
	workers *rig.RiverApp
}

func newTimedRiver(t *testing.T) *timedRiver {
	t.Helper()
	cluster := storagetest.StartCluster(t, storagetest.OwnClock())
	s := newRiverStore(t, cluster.Database(t))
	return &timedRiver{s, cluster, rig.NewRiverAppOn(t, s.database+"&application_name="+ours)}
}

func (s *timedRiver) setClock(t *testing.T, off time.Duration) {
	t.Helper()
	s.cluster.SetClock(t, off)
}

func (s *timedRiver) schedule(queue string, in time.Duration) { s.Schedule(queue, in) }

func (s *timedRiver) fill(queue string, n int) {
	s.riverStore.fill(queue, n)
	if queue == "busy" {
		s.Exec(`UPDATE river_job SET scheduled_at = scheduled_at - interval '2 hours' WHERE queue = $1`, queue)
		s.workers.Hold(queue, held)
	}
}

// A timedAsynq is Asynq on Redis.
type timedAsynq struct {
	*asynqStore

	server *storagetest.RedisServer
}

func newTimedAsynq(t *testing.T) *timedAsynq {
	t.Helper()
	server := storagetest.StartRedis(t, storagetest.WithOwnClock())
	return &timedAsynq{newAsynqStore(t, server), server}
}

func (s *timedAsynq) setClock(t *testing.T, off time.Duration) {
	t.Helper()
	s.server.SetClock(t, off)
}

func (s *timedAsynq) schedule(queue string, in time.Duration) {
	s.Enqueue(asynq.Queue(queue), asynq.ProcessIn(in))
}

func (s *timedAsynq) fill(queue string, n int) {
	s.asynqStore.fill(queue, n)
	if queue == "busy" {
		s.HoldOf(queue, held)
	}
}

// A timedKind is a way to make a timed store.
type timedKind struct {
	name, pushed string
	start        func(t *testing.T) timed
	address      func(s timed) string
	// waits is since when the backlog's oldest job waits, when a clock is first put off.
	waits time.Duration
	// late says that by a server's clock that is late, a job is not due that comes now: River dates a job by the clock of
	// who enqueues it, and takes it when that date is past by the database's.
	late bool
}

var timedKinds = []timedKind{
	{
		name: riverKind, pushed: "listen", waits: 2 * time.Hour, late: true,
		start:   func(t *testing.T) timed { return newTimedRiver(t) },
		address: func(s timed) string { return s.(*timedRiver).cluster.Address() },
	}, {
		name: asynqKind, pushed: "tracking",
		start:   func(t *testing.T) timed { return newTimedAsynq(t) },
		address: func(s timed) string { return s.(*timedAsynq).server.Addr() },
	},
}
