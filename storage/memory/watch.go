package memory

import (
	"context"

	"github.com/leadsman/leadsman/storage/driver"
)

// A watcher is what one Watch has still to tell. Changes are noted here at once and told by Watch's own
// goroutine, so that a slow Sink delays its own signals and no enqueue; doubles are told once.
type watcher struct {
	dirty map[string]bool // guarded by Store.mu
	wake  chan struct{}   // holds a token while dirty is not empty
}

// Watch implements driver.Watcher. It always works, and its mode is driver.ModeDirect.
func (s *Store) Watch(ctx context.Context, sink driver.Sink) error {
	w := &watcher{dirty: make(map[string]bool), wake: make(chan struct{}, 1)}
	s.attach(w)
	defer s.detach(w)
	sink.Push(driver.ModeDirect, "")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
		for name := range s.take(w) {
			sink.Signal(name)
		}
	}
}

func (s *Store) attach(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[*watcher]struct{})
	}
	s.watchers[w] = struct{}{}
}

func (s *Store) detach(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// take returns what the watcher has to tell and forgets it.
func (s *Store) take(w *watcher) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirty := w.dirty
	w.dirty = make(map[string]bool)
	return dirty
}

// signalLocked notes for each watcher that the named queue changed. It never blocks.
func (s *Store) signalLocked(name string) {
	for w := range s.watchers {
		w.dirty[name] = true
		select {
		case w.wake <- struct{}{}:
		default: // it has been woken and not yet looked
		}
	}
}

var (
	_ driver.Watcher = (*Store)(nil)
	_ driver.Reader  = (*Store)(nil)
)
