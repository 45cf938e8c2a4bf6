package sample_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func TestCheckReadsAsLittleAsTellsAndOnceForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &counted{Reader: memory.New(), takes: 100 * time.Millisecond}
		s := newSampler(t, r, nil)
		done := make(chan error)
		for range 5 {
			go func() { done <- s.Check(t.Context()) }()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Errorf("Check = %v", err)
			}
		}
		want := []driver.Request{{Wants: []driver.Want{{}}, Limit: 1, Activity: true}}
		if diff := cmp.Diff(want, r.requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if st := s.Status(); st.Wanted != 0 || st.Reads != 1 || st.Tried.IsZero() {
			t.Errorf("status %+v: a check is no interest in a queue", st)
		}
	})
}

// A counted is a Reader whose reads take time and are noted.
type counted struct {
	driver.Reader

	takes    time.Duration
	requests []driver.Request
}

func (c *counted) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	c.requests = append(c.requests, req)
	time.Sleep(c.takes)
	return c.Reader.Read(ctx, req)
}

func TestKnownIsWhatAnAnswerCouldBeMadeOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 2})
		store.Set("video", memory.State{Running: 1})
		s := newSampler(t, store, nil)
		get := func(wants ...driver.Want) {
			t.Helper()
			if _, err := s.Get(t.Context(), wants); err != nil {
				t.Fatal(err)
			}
		}
		type row struct {
			name  string
			ready int64
			asked bool
		}
		known := func(want ...row) {
			t.Helper()
			var got []row
			for _, q := range s.Known() {
				got = append(got, row{q.Name, q.Ready, q.Asked})
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
		}
		known()
		get(driver.Want{Queue: "mail", Lookahead: time.Hour}) // another view of it than anybody else's
		known()
		get(driver.Want{Queue: "none"}, driver.Want{Queue: "mail"})
		known(row{"mail", 2, true}, row{"none", 0, true})
		time.Sleep(2 * time.Second)
		store.Set("mail", memory.State{Ready: 5})
		get(driver.Want{})
		known(row{"mail", 5, true}, row{"none", 0, true}, row{"video", 0, false})
		store.Fail(errors.New("down"))
		time.Sleep(20 * time.Second)
		known(row{"mail", 5, true}, row{"none", 0, true}, row{"video", 0, false})
		time.Sleep(20 * time.Second)
		known()
	})
}

func TestObserverIsToldOfEachRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 30 * time.Millisecond}
		var took []time.Duration
		var failed []bool
		s := newSampler(t, r, func(opts *sample.Options) {
			opts.Observe = func(d time.Duration, err error) { took, failed = append(took, d), append(failed, err != nil) }
		})
		_, _ = s.Get(t.Context(), want("mail"))
		r.set(func(s *slow) { s.err = errors.New("down") })
		time.Sleep(2 * time.Second)
		_, _ = s.Get(t.Context(), want("mail"))
		if diff := cmp.Diff([]time.Duration{30 * time.Millisecond, 30 * time.Millisecond}, took); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]bool{false, true}, failed); diff != "" {
			t.Error(diff)
		}
	})
}
