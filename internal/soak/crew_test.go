package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A crew is one kind of coming and going. Its work is done by so many at once, each until ctx is done.
type crew struct {
	name  string
	hands int
	work  func(ctx context.Context, t *tally)
}

// A tally counts what the crews did, and what came otherwise than it has to.
type tally struct {
	sets     atomic.Int64 // distinct metadata sets that were asked for
	calls    atomic.Int64 // unary, those with a reason to be refused included
	refused  atomic.Int64 // of them
	late     atomic.Int64 // of them, because a database or the machine was too slow
	objects  atomic.Int64 // ScaledObjects that came and went
	streams  atomic.Int64 // of theirs
	trues    atomic.Int64 // on them
	jobs     atomic.Int64 // that were enqueued
	done     atomic.Int64 // and have ended
	requests atomic.Int64 // over HTTP
	events   atomic.Int64 // on streams of the page
	rules    atomic.Int64 // times that the access rules have changed

	mu  sync.Mutex
	odd map[string]int
}

// oddf notes what must not be.
func (t *tally) oddf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.odd == nil {
		t.odd = map[string]int{}
	}
	t.odd[fmt.Sprintf(format, args...)]++
}

// ended counts a call, whose code has to be one of those wanted, unless ctx is done. Unavailable, which is what a value is
// that cannot be read in time, is counted by itself: on a machine that is busy with something else a few are to be expected.
func (t *tally) ended(ctx context.Context, what string, err error, want ...codes.Code) {
	if ctx.Err() != nil {
		return
	}
	t.calls.Add(1)
	code := status.Code(err)
	switch {
	case code == codes.Unavailable:
		t.late.Add(1)
	case code != codes.OK:
		t.refused.Add(1)
	}
	if code != codes.Unavailable && !slices.Contains(want, code) {
		t.oddf("%s: want %v, got %v", what, want, err)
	}
}

// oddities are all that must not be, and how often it was.
func (t *tally) oddities() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.odd)) {
		fmt.Fprintf(&b, "%d× %s\n", t.odd[what], what)
	}
	return b.String()
}

func (t *tally) String() string {
	return fmt.Sprintf("%d metadata sets, %d calls (%d refused, %d late), %d objects, %d streams, %d trues, %d jobs (%d done), "+
		"%d HTTP requests, %d page events, %d changes of the rules", t.sets.Load(), t.calls.Load(), t.refused.Load(), t.late.Load(), t.objects.Load(),
		t.streams.Load(), t.trues.Load(), t.jobs.Load(), t.done.Load(), t.requests.Load(), t.events.Load(), t.rules.Load())
}

// idle names what the crews have not come to at all.
func (t *tally) idle() []string {
	var none []string
	for name, counter := range map[string]*atomic.Int64{
		"metadata sets": &t.sets, "refused calls": &t.refused, "objects": &t.objects, "streams": &t.streams, "trues": &t.trues,
		"jobs done": &t.done, "HTTP requests": &t.requests, "page events": &t.events, "changes of the rules": &t.rules,
	} {
		if counter.Load() == 0 {
			none = append(none, name)
		}
	}
	slices.Sort(none)
	return none
}

// run has all crews work until ctx is done.
func run(ctx context.Context, t *tally, crews []crew) {
	var hands sync.WaitGroup
	for _, c := range crews {
		for range c.hands {
			hands.Go(func() { c.work(ctx, t) })
		}
	}
	hands.Wait()
}

// every calls f at an even rate until ctx is done.
func every(ctx context.Context, d time.Duration, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// pause waits for a while, or until ctx is done, and reports whether it is not.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// lasting returns a context that is cancelled after d. It has no deadline, of which gRPC would tell the server: KEDA sets
// none either.
func lasting(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(d, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// about is a random duration from half of d to one and a half.
func about(d time.Duration) time.Duration { return d/2 + rand.N(d) }
