package page

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// anyone is the identity of a server without access rules.
func anyone(t *testing.T, b *bed) scaler.Identity {
	t.Helper()
	id, err := b.server.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// all returns everything that the page remembers.
func (b *bed) past(t *testing.T) []series {
	t.Helper()
	return b.page.history.since(anyone(t, b), 0, time.Now())
}

// The history is made of the reads that others cause: it causes none, and where there was none it has a gap, not a 0.
func TestHistoryKeepsWhatWasReadAndLeavesGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 4, Running: 1})
		store.Set("silent", memory.State{Ready: 9})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		ask := func() {
			if _, err := b.server.Ask(t.Context(), anyone(t, b), "test", map[string]string{"queue": "mail"}); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		time.Sleep(2 * time.Minute)
		if n := store.Reads(); n != 1 {
			t.Fatalf("%d reads, of which one was asked for", n)
		}
		store.Set("mail", memory.State{Ready: 0})
		ask()
		time.Sleep(time.Minute)

		got := b.past(t)
		if len(got) != 1 || got[0].Source != "jobs" || got[0].Queue != "mail" {
			t.Fatalf("history %+v, want that of the queue that was asked for", got)
		}
		const gap = unknown
		if diff := cmp.Diff([]int64{4, gap, gap, gap, gap, gap, 0}, got[0].Ready); diff != "" {
			t.Errorf("ready (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{1, gap, gap, gap, gap, gap, 0}, got[0].Running); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
	})
}

func TestHistoryKeepsThePeakOfEachSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		_, leave := b.watch()
		defer leave()
		time.Sleep(bucketSpan + 5*time.Second)
		store.Set("mail", memory.State{Ready: 70, Running: 3})
		time.Sleep(3 * time.Second)
		store.Set("mail", memory.State{Ready: 2})
		time.Sleep(bucketSpan)
		got := b.past(t)
		if len(got) != 1 {
			t.Fatalf("history %+v", got)
		}
		if diff := cmp.Diff([]int64{0, 70, 2}, got[0].Ready); diff != "" {
			t.Errorf("ready (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{0, 3, 0}, got[0].Running); diff != "" {
			t.Errorf("running (-want +got):\n%s", diff)
		}
	})
}

func TestHistoryIsOneHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 1})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		w, leave := b.watch()
		time.Sleep(90*time.Minute + bucketSpan/2)
		w.take()
		leave()
		got := b.past(t)
		if len(got) != 1 || len(got[0].Ready) != buckets || got[0].From != bucketOf(time.Now())-buckets+1 {
			t.Fatalf("%d spans from %d", len(got[0].Ready), got[0].From)
		}
		for i, n := range got[0].Ready {
			if n != 1 {
				t.Errorf("span %d: %d", i, n)
			}
		}
		time.Sleep(30 * time.Minute)
		if got = b.past(t); len(got) != 1 || len(got[0].Ready) > buckets/2+1 {
			t.Errorf("half an hour later: %+v", got)
		}
		time.Sleep(31 * time.Minute)
		if got = b.past(t); len(got) != 0 || len(b.page.history.rings) != 0 {
			t.Errorf("an hour later: %+v", got)
		}
	})
}

// A stream tells the hour once, and then what has come to it.
func TestStreamTellsTheHistoryOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 1})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		_, leave := b.watch()
		defer leave()
		time.Sleep(30 * time.Minute)
		w, leaveToo := b.watch()
		defer leaveToo()
		time.Sleep(10 * time.Minute)
		known := map[int64]bool{}
		first, spans := 0, 0
		for _, e := range w.take() {
			if e.Name != "history" {
				continue
			}
			var v pastView
			decodeInto(t, e.Data, &v)
			if v.SpanMillis != 20_000 || v.Buckets != 180 {
				t.Errorf("%+v", v)
			}
			for _, s := range v.Series {
				for i := range s.Ready {
					known[s.From+int64(i)] = true
				}
				spans += len(s.Ready)
				if first == 0 {
					first = spans
				}
			}
		}
		if first < 89 || spans-first > 3*31 || len(known) < 119 {
			t.Errorf("%d spans at first, %d more, %d different", first, spans-first, len(known))
		}
	})
}

func held(name string, at time.Time, ready int64, asked bool) scaler.HeldQueue {
	return scaler.HeldQueue{Queue: driver.Queue{Name: name, Ready: ready}, Asked: asked, At: at}
}

func TestHistoryOfManyQueuesIsBounded(t *testing.T) {
	var h history
	now := time.Now()
	flood := func(prefix string, at time.Time) {
		queues := []scaler.HeldQueue{}
		for i := range maxRings + 100 {
			queues = append(queues, held(fmt.Sprintf("%s%04d", prefix, i), at, 1, i == maxRings+99))
		}
		h.record("jobs", queues)
	}
	has := func(name string) bool { return h.rings[queueKey{"jobs", name}] != nil }
	flood("a", now)
	if len(h.rings) != maxRings || !has("a0599") || has("a0499") {
		t.Errorf("%d rings; that of the queue that is asked for by name is there: %v", len(h.rings), has("a0599"))
	}
	flood("b", now) // all others are being read: none has to go
	if len(h.rings) != maxRings || has("b0000") {
		t.Errorf("%d rings after a second flood", len(h.rings))
	}
	for _, r := range h.rings {
		r.read = now.Add(-2 * abandoned)
	}
	flood("c", now) // now none is
	if len(h.rings) != maxRings || !has("c0000") || !has("c0599") || has("a0599") {
		t.Errorf("%d rings after the first were abandoned", len(h.rings))
	}
}

func TestHistorySurvivesAClockThatIsSetBack(t *testing.T) {
	var h history
	now := time.Now()
	h.record("jobs", []scaler.HeldQueue{held("mail", now, 1, true)})
	r := h.rings[queueKey{"jobs", "mail"}]
	r.read = time.Time{} // the monotonic clock goes on, the wall clock goes back
	h.record("jobs", []scaler.HeldQueue{held("mail", now.Add(-2*time.Hour), 7, true)})
	if b := r.buckets[r.newest%buckets]; r.newest != bucketOf(now.Add(-2*time.Hour)) || b.ready != 7 {
		t.Errorf("newest %d, %+v", r.newest, b)
	}
}
