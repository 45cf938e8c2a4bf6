package faults

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A store is a job library's queues in a real database. What it writes passes the faulty network by, so that jobs come
// while leadsman cannot see them.
type store interface {
	// source is the source's entry in the configuration, for the database at an address, such as a proxy's.
	source(address string) string
	// fill adds n jobs to a queue.
	fill(queue string, n int)
	// enqueueOnce adds a job with an id. After an error it may or may not be there, and it is safe to try again.
	enqueueOnce(ctx context.Context, queue, id string) error
	// drain has all jobs of a queue done.
	drain(queue string)
	// connections is how many connections of leadsman's the database has.
	connections(t *testing.T) int
	// mostConnections is how many leadsman may have, busy as it may be.
	mostConnections() int
}

// What people call the stores.
const (
	riverKind = "PostgreSQL, River"
	asynqKind = "Redis, Asynq"
)

// A riverStore is River on PostgreSQL.
type riverStore struct {
	*rig.RiverApp

	database string // its URL
	more     string // of the source's entry in the configuration
}

// ours tells the app's connections from leadsman's.
const ours = "app"

// sharedCluster is the address of the server that makes storagetest's databases.
func sharedCluster(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(storagetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// newRiverStore is for an empty database; options are more of the app's own URL.
func newRiverStore(t *testing.T, databaseURL string, options ...string) *riverStore {
	t.Helper()
	own := databaseURL + "&connect_timeout=1&pool_max_conns=3&application_name=" + ours + strings.Join(options, "")
	return &riverStore{RiverApp: rig.NewRiverAppOn(t, own), database: databaseURL}
}

func (s *riverStore) source(address string) string {
	found := s.database
	if address != "" {
		found = at(found, address)
	}
	return fmt.Sprintf("{url: %q, preset: river%s}", found, s.more)
}

func (s *riverStore) fill(queue string, n int) { s.Enqueue(queue, n) }

func (s *riverStore) enqueueOnce(ctx context.Context, queue, id string) error {
	return s.EnqueueOnce(ctx, queue, id)
}

func (s *riverStore) drain(queue string) { s.Work(queue) }

func (s *riverStore) connections(t *testing.T) int {
	t.Helper()
	const count = `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`
	return int(s.Number(count, ours))
}

// mostConnections are two to read with and one that listens.
func (s *riverStore) mostConnections() int { return 3 }

// An asynqStore is Asynq on Redis, of whichever kind.
type asynqStore struct {
	*rig.AsynqApp

	entry   func(address string) string
	servers func() []*storagetest.RedisServer // those that run
}

// newAsynqStore is for one server.
func newAsynqStore(t *testing.T, server *storagetest.RedisServer) *asynqStore {
	t.Helper()
	hasty := asynq.RedisClientOpt{Addr: server.Addr(), DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second}
	return &asynqStore{
		AsynqApp: rig.NewAsynqAppOn(t, hasty),
		entry:    func(address string) string { return fmt.Sprintf("{url: 'redis://%s', preset: asynq}", address) },
		servers:  func() []*storagetest.RedisServer { return []*storagetest.RedisServer{server} },
	}
}

func (s *asynqStore) source(address string) string { return s.entry(address) }

func (s *asynqStore) fill(queue string, n int) {
	for range n {
		s.Enqueue(asynq.Queue(queue))
	}
}

func (s *asynqStore) enqueueOnce(ctx context.Context, queue, id string) error {
	return s.EnqueueOnce(ctx, queue, id)
}

func (s *asynqStore) drain(queue string) { s.Discard(queue) }

func (s *asynqStore) connections(t *testing.T) int {
	t.Helper()
	n := 0
	for _, server := range s.servers() {
		clients, err := server.Do(t, "CLIENT", "LIST").ToString()
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(clients, "name=leadsman")
	}
	return n
}

// mostConnections are, with each server, as many as its client spreads commands over, and one that listens.
func (s *asynqStore) mostConnections() int { return 5 * len(s.servers()) }
