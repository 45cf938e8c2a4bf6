package faults

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// An arrival is a job that somebody tries to enqueue until the database has it.
type arrival struct {
	hidden bool                      // it is not due before shows
	shown  atomic.Pointer[time.Time] // when it was said to be due

	tried time.Time // when that began
	done  chan struct{}
	at    time.Time // when the database had it; set when done is closed
	err   error     // why it never had; likewise
}

// enqueue begins to try. It is called once.
func (j *arrival) enqueue(t *testing.T, s store, queue, id string) {
	t.Helper()
	j.tried = time.Now()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		defer close(j.done)
		for {
			once, done := context.WithTimeout(ctx, time.Second)
			err := s.enqueueOnce(once, queue, id)
			done()
			if err == nil {
				j.at = time.Now()
				return
			}
			select {
			case <-ctx.Done():
				j.err = errors.Join(ctx.Err(), err)
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-j.done
	})
}

// committed waits until the database has the job.
func (j *arrival) committed(t *testing.T) time.Time {
	t.Helper()
	select {
	case <-j.done:
	case <-time.After(grace):
		t.Fatal("the job could not be enqueued after the fault")
	}
	if j.err != nil {
		t.Fatal(j.err)
	}
	return j.at
}

// shows says that the job is due, if the database has it.
func (j *arrival) shows(at time.Time) { j.shown.Store(&at) }

// due is since when the job, which the database has, is due; false if it is not yet.
func (j *arrival) due() (since time.Time, is bool) {
	if !j.hidden {
		return j.at, true
	}
	shown := j.shown.Load()
	if shown == nil {
		return time.Time{}, false
	}
	return later(j.at, *shown), true
}

// judge is for the queue that the one job comes to: once it is there, a zero is right for no longer than a last known
// value may serve, after a read that saw the queue before.
func (j *arrival) judge(a answer) error {
	if a.err != nil {
		return mayFail(a.err)
	}
	select {
	case <-j.done:
		if since, is := j.due(); is && a.value == 0 && a.asked.After(since.Add(staleAfter+readTimeout)) {
			return fmt.Errorf("value 0, %v after the job was there", a.asked.Sub(since))
		}
	default:
	}
	if a.value != 0 && a.value != 1 {
		return fmt.Errorf("value %v in a queue with one job at most", a.value)
	}
	return nil
}
