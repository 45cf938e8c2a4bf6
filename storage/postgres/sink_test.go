package postgres_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
)

// listening adds a channel to a preset, whose payload is the queue's name.
func listening(sql driver.SQL) driver.SQL {
	sql.Listen = &driver.Listen{Channels: []string{"Jobs: added"}, Payload: driver.PayloadQueue}
	return sql
}

// A sink remembers what a Watcher reported.
type sink struct {
	mu    sync.Mutex
	state seen
}

type seen struct {
	mode    driver.Mode
	why     string
	modes   []driver.Mode
	signals map[string]int
}

func (s *sink) Signal(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.signals[queue]++
}

func (s *sink) Push(mode driver.Mode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.mode, s.state.why = mode, reason
	s.state.modes = append(s.state.modes, mode)
}

func (s *sink) now() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.state
	out.modes = slices.Clone(out.modes)
	out.signals = make(map[string]int, len(s.state.signals))
	maps.Copy(out.signals, s.state.signals)
	return out
}

// wait waits until what was seen fits.
func (s *sink) wait(t *testing.T, what string, fits func(seen) bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("seen: %+v", s.now())
		}
	}()
	eventually(t, what, func() bool { return fits(s.now()) })
}

// listens waits until the engine listens.
func (s *sink) listens(t *testing.T) {
	t.Helper()
	s.wait(t, "the engine listens", func(s seen) bool { return s.mode == driver.ModeListen && s.signals[""] > 0 })
}

// watch watches in a hurry until the test ends.
func watch(t *testing.T, engine *postgres.Engine, tune ...postgres.Tune) *sink {
	t.Helper()
	engine.Hurry(tune...)
	s := &sink{state: seen{signals: map[string]int{}}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Watch(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return s
}
