package sample_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// A picky is a slow that cannot read one queue.
type picky struct {
	slow

	bad string // "" for none
}

func (p *picky) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	reading, err := p.slow.Read(ctx, req)
	for i, q := range reading.Queues {
		if q.Name == p.bad {
			reading.Queues = append(reading.Queues[:i], reading.Queues[i+1:]...)
			reading.Failed = map[driver.Want]error{{Queue: q.Name}: errors.New("another type")}
			break
		}
	}
	return reading, err
}

func TestQueueThatFailsAloneLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &picky{slow: slow{takes: time.Millisecond}, bad: "bad"}
		r.ready("mail", 5)
		s := newSampler(t, r, nil)
		if _, err := s.Get(t.Context(), want("bad")); err == nil {
			t.Error("Get of the queue that fails returned a sample")
		}
		if got := ready(t, s, "mail"); got != 5 {
			t.Errorf("ready = %d, want 5", got)
		}
		if _, err := s.Get(t.Context(), want("mail", "bad")); err == nil {
			t.Error("Get of both returned a sample: the sum would lack one")
		}
		if _, err := s.Probe(t.Context(), nil, want("bad"), 1, time.Now()); err == nil {
			t.Error("Probe of the queue that fails returned a sample")
		}
		if view, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil || view.Queues[0].Ready != 1 {
			t.Errorf("Probe of the other: %+v, %v", view, err)
		}
	})
}

func TestQueueThatFailsAloneAnswersFromItsLastSampleForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &picky{slow: slow{takes: time.Millisecond}}
		r.ready("mail", 5)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		r.bad = "mail"
		time.Sleep(20 * time.Second)
		view, err := s.Get(t.Context(), want("mail"))
		if err != nil || view.Queues[0].Ready != 5 || view.Err == nil {
			t.Errorf("within StaleAfter: %+v, %v, want the last value with the reason of its age", view, err)
		}
		time.Sleep(20 * time.Second)
		if view, err = s.Get(t.Context(), want("mail")); err == nil {
			t.Errorf("past StaleAfter: %+v, want an error", view)
		}
		r.bad = ""
		time.Sleep(2 * time.Second)
		if view, err = s.Get(t.Context(), want("mail")); err != nil || view.Err != nil || view.Queues[0].Ready != 5 {
			t.Errorf("after recovery: %+v, %v", view, err)
		}
	})
}
