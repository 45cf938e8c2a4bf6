package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// An inserter commits jobs into one queue.
type inserter struct {
	race  *race
	index int
	queue string
	conn  *pgx.Conn
	id    int64 // of the last job, the round
	ctx   context.Context
}

func (r *race) newInserter(index int) *inserter {
	r.t.Helper()
	return &inserter{
		race: r, index: index, queue: r.queues[index], conn: connect(r.t, r.dsn), id: int64(index),
		ctx: context.WithoutCancel(r.t.Context()),
	}
}

// ways are those in which a job is committed, the likelier ones twice. Each returns when that is done.
var ways = []func(*inserter){
	(*inserter).alone, (*inserter).alone, (*inserter).inTransaction, (*inserter).inTransaction, (*inserter).inTransaction,
	(*inserter).afterRollback, (*inserter).inSavepoint, (*inserter).prepared, (*inserter).copied, (*inserter).released,
	(*inserter).amongOthers, (*inserter).afterTimeout, (*inserter).slowly,
}

// round commits a job, waits until every reader has seen it, and takes it away.
func (in *inserter) round() {
	in.id += racers // ids are the inserters' own
	pause(6 * time.Millisecond)
	way := rand.IntN(len(in.race.ways))
	in.race.ways[way](in)
	committed := time.Now()
	in.race.waiting[in.index].Store(committed.UnixNano())
	defer in.race.waiting[in.index].Store(0)
	deadline := time.After(in.race.bound)
	for i, reader := range in.race.readers {
		if !reader.await(in.index, in.id, deadline) {
			in.race.lost.Add(1)
			in.race.t.Logf("lost: job %d of %s, way %d, reader %d of %d", in.id, in.queue, way, i+1, len(in.race.readers))
			break
		}
	}
	took := int64(time.Since(committed))
	for worst := in.race.worst.Load(); took > worst && !in.race.worst.CompareAndSwap(worst, took); {
		worst = in.race.worst.Load()
	}
	in.exec("DELETE FROM jobs WHERE id = $1", in.id)
}

// pause is a time of any length up to d.
func pause(d time.Duration) { time.Sleep(rand.N(d)) }

func (in *inserter) exec(sql string, args ...any) {
	if _, err := in.conn.Exec(in.ctx, sql, args...); err != nil {
		in.race.t.Errorf("%s: %v", sql, err)
	}
}

// insert inserts the job.
func (in *inserter) insert() {
	in.exec("INSERT INTO jobs (id, queue) VALUES ($1, $2)", in.id, in.queue)
}

// insertOther inserts a job that is none of the round's; none is left of it in the end.
func (in *inserter) insertOther() {
	in.exec("INSERT INTO jobs (id, queue) VALUES ($1, $2)", -in.id, in.queue)
}

func (in *inserter) alone() { in.insert() }

func (in *inserter) inTransaction() {
	levels := []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}
	in.exec("BEGIN ISOLATION LEVEL " + levels[rand.IntN(len(levels))])
	pause(2 * time.Millisecond)
	in.insert()
	pause(6 * time.Millisecond)
	in.exec("COMMIT")
}

func (in *inserter) afterRollback() {
	in.exec("BEGIN")
	in.insertOther()
	pause(3 * time.Millisecond)
	in.exec("ROLLBACK")
	in.insert()
}

func (in *inserter) inSavepoint() {
	in.exec("BEGIN")
	in.exec("SAVEPOINT a")
	in.insertOther()
	in.exec("ROLLBACK TO a")
	pause(3 * time.Millisecond)
	in.exec("SAVEPOINT b")
	in.insert()
	pause(3 * time.Millisecond)
	in.exec("RELEASE b")
	pause(3 * time.Millisecond)
	in.exec("COMMIT")
}

// prepared says itself what it has muted, as the bell's comments ask; but for its bucket alone, not to mend what others
// have lost.
func (in *inserter) prepared() {
	in.race.two <- struct{}{}
	defer func() { <-in.race.two }()
	name := fmt.Sprintf("'%s-%d'", in.queue, in.id)
	in.exec("BEGIN")
	in.exec("SET LOCAL bell.mute = on")
	in.insert()
	in.exec("PREPARE TRANSACTION " + name)
	pause(6 * time.Millisecond)
	in.exec("COMMIT PREPARED " + name)
	in.exec("NOTIFY " + in.race.channel + fmt.Sprintf(", '%d'", bucketOf(in.index)))
}

func (in *inserter) copied() {
	rows := pgx.CopyFromRows([][]any{{in.id, in.queue}})
	if _, err := in.conn.CopyFrom(in.ctx, pgx.Identifier{"jobs"}, []string{"id", "queue"}, rows); err != nil {
		in.race.t.Error(err)
	}
}

// released is a job that becomes runnable by an update.
func (in *inserter) released() {
	in.exec("INSERT INTO jobs (id, queue, held) VALUES ($1, $2, true)", in.id, in.queue)
	pause(3 * time.Millisecond)
	in.exec("UPDATE jobs SET held = false WHERE id = $1", in.id)
}

// amongOthers is in a statement with jobs of queues that nobody wants.
func (in *inserter) amongOthers() {
	in.exec("BEGIN")
	in.exec("INSERT INTO jobs (id, queue) SELECT -1000 * $1::bigint - n, 'nobody-' || n FROM generate_series(1, 20) AS n", in.id)
	in.insert()
	pause(3 * time.Millisecond)
	in.exec("DELETE FROM jobs WHERE id BETWEEN -1000 * $1::bigint - 20 AND -1000 * $1::bigint", in.id)
	in.exec("COMMIT")
}

// afterTimeout is after a transaction that was broken off somewhere in the middle of its triggers.
func (in *inserter) afterTimeout() {
	in.exec("BEGIN")
	in.exec(fmt.Sprintf("SET LOCAL statement_timeout = %d", 1+rand.IntN(4)))
	_, err := in.conn.Exec(in.ctx,
		"INSERT INTO jobs (id, queue) SELECT -1000 * $1::bigint - n, $2 FROM generate_series(1, 900) AS n", in.id, in.queue)
	in.exec("ROLLBACK")
	if err == nil {
		pause(time.Millisecond) // it was in time
	}
	in.insert()
}

// slowly is a transaction that outlasts many of the reader's cycles.
func (in *inserter) slowly() {
	in.exec("BEGIN")
	in.insert()
	pause(60 * time.Millisecond)
	in.exec("COMMIT")
}
