package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// wantedFor is how long after the last read of it a queue is wanted. A stream that waits reads it after each of the
	// bell's checks, which are far more frequent.
	wantedFor = 5 * time.Minute
	// maxWanted bounds the queues that are told apart.
	maxWanted = 1024
)

// wanted remembers which queues have been read lately. Its methods may be called from several goroutines.
type wanted struct {
	mu    sync.Mutex
	names map[string]time.Time // when a queue was last read
	all   time.Time            // when every queue was, or too many
}

// note takes what a read asks for.
func (w *wanted) note(wants []driver.Want, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, want := range wants {
		switch {
		case want.Queue == "" || len(w.names) >= maxWanted && w.names[want.Queue].IsZero():
			w.all = now
		case strings.ContainsRune(want.Queue, 0): // no text of PostgreSQL's holds it
		default:
			if w.names == nil {
				w.names = map[string]time.Time{}
			}
			w.names[want.Queue] = now
		}
	}
}

// list returns the names that are wanted, or that all are, as when nobody has asked for any.
func (w *wanted) list(now time.Time) (names []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, at := range w.names {
		if now.Sub(at) > wantedFor {
			delete(w.names, name)
			continue
		}
		names = append(names, name)
	}
	return names, len(names) == 0 || !w.all.IsZero() && now.Sub(w.all) <= wantedFor
}

// bellWants are the queues that somebody wants, and their buckets.
type bellWants struct {
	all     bool           // every queue, or nobody knows
	of      map[string]int // queue → bucket, unless all
	buckets buckets
}

// refresh brings the wants up to date, and returns the buckets of queues that were not wanted before.
func (w *bellWants) refresh(ctx context.Context, from *wanted, conn *pgconn.PgConn, now time.Time) (added buckets, err error) {
	names, all := from.list(now)
	if all {
		if !w.all {
			added = ^buckets(0)
		}
		w.all, w.of, w.buckets = true, nil, ^buckets(0)
		return added, nil
	}
	of := make(map[string]int, len(names))
	var unknown []string
	for _, name := range names {
		if n, ok := w.of[name]; ok {
			of[name] = n
		} else {
			unknown = append(unknown, name)
		}
	}
	if err := resolve(ctx, conn, unknown, of); err != nil {
		return 0, err
	}
	for _, name := range unknown {
		added |= bucket(of[name])
	}
	w.all, w.of, w.buckets = false, of, 0
	for _, n := range of {
		w.buckets |= bucket(n)
	}
	return added, nil
}

// resolve adds the buckets of names to a map. Only the server can tell them.
func resolve(ctx context.Context, conn *pgconn.PgConn, names []string, into map[string]int) error {
	if len(names) == 0 {
		return nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	// The same expression as in the trigger.
	result := conn.ExecParams(ctx, `SELECT (pg_catalog.hashtext(v) & $2::int4)::text
		FROM pg_catalog.json_array_elements_text($1::json) WITH ORDINALITY AS name(v, i) ORDER BY i`,
		[][]byte{list, []byte(strconv.Itoa(bellBuckets - 1))}, nil, nil, nil).Read()
	if result.Err != nil {
		return result.Err
	}
	if len(result.Rows) != len(names) {
		return fmt.Errorf("the server answered with %d rows for %d queues", len(result.Rows), len(names))
	}
	for i, row := range result.Rows {
		n, err := strconv.Atoi(string(row[0]))
		if err != nil {
			return err
		}
		into[names[i]] = n
	}
	return nil
}

// A buckets is a set of buckets, a bit for each.
type buckets uint64

func bucket(n int) buckets { return 1 << n }

// bucketOf reads the payload of a ring.
func bucketOf(payload string) (n int, ok bool) {
	n, err := strconv.Atoi(payload)
	return n, err == nil && n >= 0 && n < bellBuckets
}

// all yields the members.
func (s buckets) all() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for n := range bellBuckets {
			if s&bucket(n) != 0 && !yield(n) {
				return
			}
		}
	}
}

func (s buckets) len() int { return bits.OnesCount64(uint64(s)) }

// keys are the second halves of the keys of the buckets' locks, all stripes, with commas between them.
func (s buckets) keys() string {
	var keys []string
	for n := range s.all() {
		for stripe := range bellStripes {
			keys = append(keys, strconv.Itoa(n+bellBuckets*stripe))
		}
	}
	return strings.Join(keys, ",")
}
