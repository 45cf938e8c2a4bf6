package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
)

// A bell is the reader's side of the armed bell, a trigger that notifies of a job while somebody waits for one. Its SQL is
// [BellSQL]'s. Whoever waits holds shared advisory locks, and the trigger tries to take the same exclusively: where it
// cannot, it notifies. A bell belongs to one session of a watcher and does all on that one connection.
//
// Arming is in three steps, each a statement of its own, and no job is lost because of their order ([armSteps]):
//
//  1. Take the locks. A transaction whose trigger tries them from now on rings when it commits.
//  2. Note the ids of all transactions in progress. A transaction whose trigger has tried before, and found nobody, has had
//     its id by then: it has ended, or it is among these.
//  3. Signal the queues, for the server to sample them: that sees the jobs of all that have ended.
//
// As long as transactions of step 2 go on, the bell looks which of them have ended, and then signals again. (They are the
// ones whose locks on their own ids are listed. The transactions in progress of a snapshot would not do: it does not list
// those whose id is higher than that of the last to have ended.)
//
// Once it has rung, the bell lets go of the locks of that bucket, so that inserts go on unhindered, and for a rest signals
// its queues four times a second, as an edge poll asks. Then it arms again, whether there is work or not: on a busy
// queue that makes one commit in a second pay for its NOTIFY. What cannot be verified to be armed ends the session, and
// the watcher says that the source is polled, and why.
type bell struct {
	w    *watcher
	conn *pgx.Conn
	keys bellKeys
	pid  string // of the server's process

	wants  bellWants
	armed  buckets
	rests  [bellBuckets]time.Time // when a bucket may be armed again
	tickAt time.Time

	pending  map[string]bool // ids of transactions that were in progress when a bucket was armed
	draining buckets         // those buckets
	drainAt  time.Time       // when to look after them; of no meaning while nothing is pending
	delay    time.Duration   // after that
}

// An armStep is one step of arming buckets.
type armStep func(b *bell, ctx context.Context, fresh buckets) error

// armSteps are the steps in the order that they are right in.
func armSteps() []armStep { return []armStep{(*bell).lock, (*bell).notePending, (*bell).announce} }

// firstDrain is how long after arming the pending transactions are looked after first; then twice that, up to a tick.
const firstDrain = 10 * time.Millisecond

// newBell makes the bell of a session. Nothing is armed.
func (w *watcher) newBell(conn *pgx.Conn, keys bellKeys) *bell {
	return &bell{w: w, conn: conn, keys: keys, pending: map[string]bool{}, wants: bellWants{of: map[string]int{}}}
}

// start prepares the session and arms the bell for the first time.
func (b *bell) start(ctx context.Context) error {
	// Its statements must see what has been committed before each of them. A reader that hangs keeps the bell ringing:
	// the server must find out and free its locks.
	rows, err := b.command(ctx, `SELECT pg_catalog.pg_backend_pid(),
		set_config('default_transaction_isolation', 'read committed', false), set_config('lock_timeout', '500ms', false),
		(SELECT count(set_config(s.name, '45s', false)) FROM pg_catalog.pg_settings s WHERE s.name = 'idle_session_timeout')`)
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) == 0 {
		return fmt.Errorf("the server answered with %q", rows)
	}
	b.pid = string(rows[0][0])
	// Some systems do not have all of these; the one above is enough.
	_, _ = b.command(ctx, `SELECT set_config('tcp_user_timeout', '10s', false), set_config('tcp_keepalives_idle', '10s', false),
		set_config('tcp_keepalives_interval', '5s', false), set_config('tcp_keepalives_count', '3', false)`)
	if b.conn.IsClosed() {
		return errors.New("the connection was lost")
	}
	if _, err := b.command(ctx, "LISTEN "+quote(b.keys.channel)); err != nil {
		return err
	}
	return b.tick(ctx, time.Now())
}

// stop leaves nothing behind on a connection that a pooler may hand to somebody else.
func (b *bell) stop() {
	if b.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cancelWait)
	defer cancel()
	_, _ = b.command(ctx, "DISCARD ALL") // the connection is closed next, and with it goes everything
}

func (b *bell) command(ctx context.Context, sql string) ([][][]byte, error) {
	return b.w.command(ctx, b.conn.PgConn(), sql)
}

// until returns when there is something to do next, and end if that is earlier.
func (b *bell) until(end time.Time) time.Time {
	next := b.tickAt
	if len(b.pending) > 0 && b.drainAt.Before(next) {
		next = b.drainAt
	}
	if next.Before(end) {
		return next
	}
	return end
}

// work does what is due.
func (b *bell) work(ctx context.Context, now time.Time) error {
	if len(b.pending) > 0 && !b.drainAt.After(now) {
		if err := b.drain(ctx); err != nil {
			return err
		}
	}
	if b.tickAt.After(now) {
		return nil
	}
	return b.tick(ctx, now)
}

// rang takes a notification: first the signal, for which somebody waits, and then the locks. A payload that names no bucket
// is what an application says itself after COMMIT PREPARED.
func (b *bell) rang(ctx context.Context, payload string, now time.Time) error {
	n, ok := bucketOf(payload)
	if !ok {
		b.w.sink.Signal("")
		return nil
	}
	b.signal(bucket(n))
	if b.armed&bucket(n) == 0 {
		return nil // it was on its way while the locks were let go
	}
	b.rests[n] = now.Add(b.w.timing.rest)
	return b.unlock(ctx, bucket(n))
}

// tick adapts what is armed to what is wanted, and polls what is not armed.
func (b *bell) tick(ctx context.Context, now time.Time) error {
	b.tickAt = now.Add(b.w.timing.tick)
	added, err := b.wants.refresh(ctx, &b.w.engine.wanted, b.conn.PgConn(), now)
	if err != nil {
		return err
	}
	if idle := b.armed &^ b.wants.buckets; idle != 0 {
		if err := b.unlock(ctx, idle); err != nil {
			return err
		}
	}
	open := b.wants.buckets &^ b.armed
	rested := open
	for n := range open.all() {
		if b.rests[n].After(now) {
			rested &^= bucket(n)
		}
	}
	if rested != 0 {
		for _, step := range b.w.engine.arming {
			if err := step(b, ctx, rested); err != nil {
				return err
			}
		}
	}
	// A queue that is wanted only now may have rung before: nobody knew that it was meant.
	b.signal(added | open&^rested)
	return nil
}

// lock takes the locks of buckets. That waits for inserters that are trying them, a moment.
func (b *bell) lock(ctx context.Context, fresh buckets) error {
	_, err := b.command(ctx, fmt.Sprintf(
		"SELECT count(pg_catalog.pg_advisory_lock_shared(%d, k)) FROM unnest('{%s}'::int4[]) AS k", b.keys.class, fresh.keys()))
	if err == nil {
		b.armed |= fresh
	}
	return err
}

// unlock lets go of the locks of buckets.
func (b *bell) unlock(ctx context.Context, done buckets) error {
	b.armed &^= done
	rows, err := b.command(ctx, fmt.Sprintf(
		"SELECT bool_and(pg_catalog.pg_advisory_unlock_shared(%d, k)) FROM unnest('{%s}'::int4[]) AS k", b.keys.class, done.keys()))
	if err == nil && (len(rows) != 1 || string(rows[0][0]) != "t") {
		err = errUnarmed
	}
	return err
}

// notePending adds the transactions in progress to those that are waited for.
func (b *bell) notePending(ctx context.Context, fresh buckets) error {
	running, err := b.running(ctx)
	if err != nil || len(running) == 0 {
		return err
	}
	for id := range running {
		b.pending[id] = true
	}
	b.draining |= fresh
	b.delay = firstDrain
	b.drainAt = time.Now().Add(b.delay)
	return nil
}

// announce lets the server sample.
func (b *bell) announce(_ context.Context, fresh buckets) error {
	b.signal(fresh)
	return nil
}

// drain looks whether transactions that were in progress have ended, and lets the server sample then.
func (b *bell) drain(ctx context.Context) error {
	running, err := b.running(ctx)
	if err != nil {
		return err
	}
	before := len(b.pending)
	for id := range b.pending {
		if !running[id] {
			delete(b.pending, id)
		}
	}
	if len(b.pending) < before {
		b.signal(b.draining)
	}
	if len(b.pending) == 0 {
		b.draining = 0
	}
	b.delay = min(2*b.delay, b.w.timing.tick)
	b.drainAt = time.Now().Add(b.delay)
	return nil
}

// running lists the ids of the transactions in progress, prepared ones too.
func (b *bell) running(ctx context.Context) (map[string]bool, error) {
	rows, err := b.command(ctx, `SELECT l.transactionid FROM pg_catalog.pg_locks l
		WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted`)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(rows))
	for _, row := range rows {
		ids[string(row[0])] = true
	}
	return ids, nil
}

var (
	errUnarmed = driver.Errorf(driver.Unavailable, "the bell's locks were lost")
	errPooled  = unable{"the listening connection has changed its server process, as it does through a transaction pooler; " +
		"set listenURL to a connection that leads straight to the database"}
)

// check makes sure that the session still is what it was armed on and holds its locks, and has the server sample for all
// cases that nobody has thought of. That notifications arrive is for the canary to find out.
func (b *bell) check(ctx context.Context) error {
	rows, err := b.command(ctx, fmt.Sprintf(`SELECT pg_catalog.pg_backend_pid(), count(*) FROM pg_catalog.pg_locks l
		WHERE l.locktype = 'advisory' AND l.pid = pg_catalog.pg_backend_pid() AND l.classid = %d AND l.objsubid = 2
			AND l.mode = 'ShareLock' AND l.granted`, b.keys.class))
	switch {
	case err != nil:
		return err
	case len(rows) != 1 || string(rows[0][0]) != b.pid:
		return errPooled
	case string(rows[0][1]) != strconv.Itoa(b.armed.len()*bellStripes):
		return errUnarmed
	}
	b.w.sink.Signal("")
	return nil
}

// signal signals the wanted queues of buckets.
func (b *bell) signal(of buckets) {
	switch {
	case of == 0:
	case b.wants.all:
		b.w.sink.Signal("")
	default:
		for queue, n := range b.wants.of {
			if of&bucket(n) != 0 {
				b.w.sink.Signal(queue)
			}
		}
	}
}
