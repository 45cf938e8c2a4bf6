package scaler

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

const (
	maxTriggers  = 100_000   // remembered at once
	maxSpelled   = 64 << 20  // bytes of their names and queues, of which one trigger may have a hundred thousand
	triggerExpel = time.Hour // a trigger not heard of for so long is forgotten when room is needed
	sweepEvery   = 10 * time.Second
)

// A triggerKey tells triggers apart. KEDA sends no trigger index: two triggers of one ScaledObject with the same
// metadata are one here, and answered alike.
type triggerKey struct {
	namespace, name string
	query           query.Query
}

// A trigger is what is remembered of one trigger, for people, and for linger. Nothing in it is needed to answer
// KEDA right: every replica of the server may have another memory.
type trigger struct {
	key triggerKey

	mu       sync.Mutex
	asked    time.Time // last call of any kind
	value    float64   // last answered by GetMetrics
	valueAt  time.Time
	active   bool // last answered by IsActive
	activeAt time.Time
	busyAt   time.Time // when activity was last seen by anybody
	err      error     // the last call's error; nil after a good one
	streams  []*waker  // open StreamIsActive streams
	wokenAt  time.Time // last true sent
	wakes    int64
	wakeTook time.Duration // from the signal to the true of the last signalled wake; 0 before the first
}

// sawActivity notes an activity and reports whether the trigger counts as active: now, or by lingering.
func (t *trigger) sawActivity(now time.Time, active bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if active {
		t.busyAt = now
		return true
	}
	linger := t.key.query.Linger
	return linger > 0 && !t.busyAt.IsZero() && now.Sub(t.busyAt) < linger
}

// touch notes a call.
func (t *trigger) touch(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = now
}

func (t *trigger) answered(now time.Time, note func(*trigger)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked, t.err = now, nil
	note(t)
}

// opened and closed keep the streams.
func (t *trigger) opened(w *waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams = append(t.streams, w)
}

func (t *trigger) closed(w *waker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams = slices.DeleteFunc(t.streams, func(open *waker) bool { return open == w })
}

// nudge has the streams look at once that believe that there is work: KEDA is being told otherwise, and may scale to
// zero at once.
func (t *trigger) nudge() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.streams {
		w.deny()
	}
}

func (t *trigger) failed(now time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked, t.err = now, err
}

// woke notes a true that was sent; took is 0 when no signal had caused it.
func (t *trigger) woke(now time.Time, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wokenAt = now
	t.wakes++
	if took > 0 {
		t.wakeTook = took
	}
}

// triggers remembers who asked what, within bounds. Every call of KEDA's passes here, so nothing that takes long for many
// of them is done under mu.
type triggers struct {
	mu      sync.Mutex
	byKey   map[triggerKey]*trigger
	spelled int   // bytes of the keys
	changes int64 // of what byKey holds
	swept   time.Time

	listMu sync.Mutex // taken before mu
	listed []*trigger // in order; never changed, but replaced
	asOf   int64      // the changes that listed knows of
}

// get returns the trigger of key, made if need be. When there is no room it is a passing one.
func (ts *triggers) get(key triggerKey, now time.Time) *trigger {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byKey[key]; t != nil {
		t.touch(now)
		return t
	}
	t := &trigger{key: key, asked: now}
	if !ts.roomLocked(&key) && !ts.sweepLocked(&key, now) {
		return t
	}
	if ts.byKey == nil {
		ts.byKey = map[triggerKey]*trigger{}
	}
	ts.byKey[key] = t
	ts.spelled += key.size()
	ts.changes++
	return t
}

// roomLocked tells whether there is room for another key.
func (ts *triggers) roomLocked(key *triggerKey) bool {
	return len(ts.byKey) < maxTriggers && ts.spelled+key.size() <= maxSpelled
}

// sweepLocked forgets triggers not heard of for long and reports whether there is room for a key now. It looks through all
// of them, so it does it every now and then only.
func (ts *triggers) sweepLocked(wanted *triggerKey, now time.Time) bool {
	if now.Sub(ts.swept) < sweepEvery {
		return false
	}
	ts.swept = now
	for key, t := range ts.byKey {
		if t.forgettable(now) {
			delete(ts.byKey, key)
			ts.spelled -= key.size()
			ts.changes++
		}
	}
	return ts.roomLocked(wanted)
}

func (t *trigger) forgettable(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.streams) == 0 && now.Sub(t.asked) > triggerExpel
}

// count returns how many triggers are remembered.
func (ts *triggers) count() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.byKey)
}

// list returns all triggers, ordered by namespace, name and metric. It is shared: do not change it. They are sorted once
// for all who look, and anew only when there are others.
func (ts *triggers) list() []*trigger {
	ts.listMu.Lock()
	defer ts.listMu.Unlock()
	all, changes := ts.unlike(ts.asOf)
	if changes != ts.asOf {
		slices.SortFunc(all, func(a, b *trigger) int { return a.key.compare(&b.key) })
		ts.listed, ts.asOf = all, changes
	}
	return ts.listed
}

// unlike returns all triggers, in no order, and how often they have changed; none when that is asOf.
func (ts *triggers) unlike(asOf int64) (all []*trigger, changes int64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.changes == asOf {
		return nil, asOf
	}
	all = make([]*trigger, 0, len(ts.byKey))
	for _, t := range ts.byKey {
		all = append(all, t)
	}
	return all, ts.changes
}

// size is how many bytes of text the key has.
func (k *triggerKey) size() int {
	return len(k.namespace) + len(k.name) + len(k.query.Source) + len(k.query.Queues) + len(k.query.Name)
}

// compare orders keys. No two are equal, so that a list can be paged through.
func (k *triggerKey) compare(other *triggerKey) int {
	a, b := &k.query, &other.query
	return cmp.Or(
		cmp.Compare(k.namespace, other.namespace),
		cmp.Compare(k.name, other.name),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Queues, b.Queues),
		cmp.Compare(a.Metric, b.Metric),
		cmp.Compare(a.Target, b.Target),
		cmp.Compare(a.Activation, b.Activation),
		cmp.Compare(a.Max, b.Max),
		cmp.Compare(a.Linger, b.Linger),
		cmp.Compare(a.Lookahead, b.Lookahead),
		compareBool(a.ActiveWhileRunning, b.ActiveWhileRunning),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
