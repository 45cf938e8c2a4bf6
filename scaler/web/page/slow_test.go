package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// A slowReader takes nothing until it is let.
type slowReader struct {
	header http.Header

	mu     sync.Mutex
	got    strings.Builder
	writes int
	gate   chan struct{} // nil: no waiting
}

func (w *slowReader) Header() http.Header { return w.header }
func (w *slowReader) WriteHeader(int)     {}
func (w *slowReader) Flush()              {}

func (w *slowReader) Write(p []byte) (int, error) {
	w.mu.Lock()
	gate := w.gate
	w.mu.Unlock()
	if gate != nil {
		<-gate
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	return w.got.Write(p)
}

// take returns what was written since the last time.
func (w *slowReader) take() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []event
	readEvents(strings.NewReader(w.got.String()), func(e event) { all = append(all, e) })
	w.got.Reset()
	return all
}

func (w *slowReader) hold(gate chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate = gate
}

// watch opens a stream within a bubble.
func (b *bed) watch() (*slowReader, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &slowReader{header: http.Header{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/page/events", http.NoBody))
	}()
	return w, func() {
		cancel()
		<-done
	}
}

func TestSlowReaderGetsTheLatestStateAndNoBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 1})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		w, leave := b.watch()
		defer leave()
		time.Sleep(3 * time.Second)
		w.take()

		gate := make(chan struct{})
		w.hold(gate)
		for range 30 {
			time.Sleep(time.Second)
			store.Enqueue("mail", 1)
		}
		time.Sleep(1500 * time.Millisecond) // less than a source counts as watched after a look
		w.hold(nil)
		close(gate)
		time.Sleep(2 * time.Second)
		var queues []event
		for _, e := range w.take() {
			if e.Name == "queues" {
				queues = append(queues, e)
			}
		}
		// The first is what was being written, the last what there is; one between for the look that asked for it.
		if n := len(queues); n == 0 || n > 3 || !strings.Contains(string(queues[n-1].Data), `"ready":31,`) {
			t.Errorf("%d messages: %+v", n, queues)
		}
	})
}

func TestStreamWithNothingToSaySaysThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		seldom := source(t, "jobs", store)
		seldom.MaxAge, seldom.StaleAfter = 10*time.Minute, 10*time.Minute
		b := serve(t, scaler.Access{}, seldom)
		w, leave := b.watch()
		defer leave()
		time.Sleep(5 * time.Minute)
		names := map[string]int{}
		for _, e := range w.take() {
			names[e.Name]++
		}
		if names[": alive"] < 5 || names["sources"] > 3 || names["history"] > 2 || names["triggers"] != 1 || names["caller"] != 1 {
			t.Errorf("events %v", names)
		}
	})
}

// Sources are read because somebody looks, once a second at most however many do, and not at all when nobody does.
func TestOnlyAnOpenPageReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 1})
		b := serve(t, scaler.Access{}, source(t, "jobs", store))
		time.Sleep(time.Minute)
		if n := store.Reads(); n != 0 {
			t.Fatalf("%d reads, and nobody looks", n)
		}
		var leave []context.CancelFunc
		for range 5 {
			_, cancel := b.watch()
			leave = append(leave, cancel)
		}
		time.Sleep(time.Minute)
		if n := store.Reads(); n < 30 || n > 61 {
			t.Errorf("%d reads within a minute of five pages", n)
		}
		for _, cancel := range leave {
			cancel()
		}
		time.Sleep(watchedFor + time.Second)
		n := store.Reads()
		time.Sleep(time.Minute)
		if store.Reads() != n {
			t.Errorf("%d reads after all have left", store.Reads()-n)
		}
	})
}
