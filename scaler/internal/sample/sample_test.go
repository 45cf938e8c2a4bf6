package sample_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// A slow is a Reader whose reads take time, fail and are counted, on the fake clock. A real engine cannot be had
// to do so to the millisecond.
type slow struct {
	mu       sync.Mutex
	takes    time.Duration
	off      time.Duration // of its clock
	err      error
	queues   map[string]driver.Queue
	requests []driver.Request
	busy     int
	overlap  int // most reads at once
}

func (s *slow) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.busy++
	s.overlap = max(s.overlap, s.busy)
	takes, err := s.takes, s.err
	reading := driver.Reading{Now: time.Now().Add(s.off)}
	for _, want := range req.Wants {
		q := s.queues[want.Queue]
		q.Name, q.Lookahead = want.Queue, want.Lookahead
		if req.Limit > 0 && q.Ready > req.Limit {
			q.Ready, q.Saturated = req.Limit, true
		}
		reading.Queues = append(reading.Queues, q)
	}
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	s.busy--
	s.mu.Unlock()
	return reading, err
}

func (s *slow) Close() error { return nil }

func (s *slow) set(change func(*slow)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *slow) ready(queue string, n int64) {
	s.set(func(s *slow) {
		if s.queues == nil {
			s.queues = map[string]driver.Queue{}
		}
		s.queues[queue] = driver.Queue{Known: true, Ready: n}
	})
}

func (s *slow) reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func newSampler(t *testing.T, r driver.Reader, change func(*sample.Options)) *sample.Sampler {
	t.Helper()
	return newDueSampler(t, r, change, func(string) {})
}

func newDueSampler(t *testing.T, r driver.Reader, change func(*sample.Options), due func(string)) *sample.Sampler {
	t.Helper()
	src, err := storage.New("src", r)
	if err != nil {
		t.Fatal(err)
	}
	opts := sample.Defaults()
	if change != nil {
		change(&opts)
	}
	s := sample.New(src, opts, due)
	t.Cleanup(s.Close)
	return s
}

func want(names ...string) []driver.Want {
	wants := make([]driver.Want, len(names))
	for i, name := range names {
		wants[i].Queue = name
	}
	return wants
}

// ready asks for one queue and returns how many jobs it is said to have.
func ready(t *testing.T, s *sample.Sampler, queue string) int64 {
	t.Helper()
	view, err := s.Get(t.Context(), want(queue))
	if err != nil {
		t.Fatalf("Get(%q): %v", queue, err)
	}
	return view.Queues[0].Ready
}

func TestOneReadServesAllWhoAskWithinMaxAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 20 * time.Millisecond}
		r.ready("mail", 7)
		s := newSampler(t, r, nil)
		var askers sync.WaitGroup
		for range 1000 {
			askers.Go(func() {
				if got := ready(t, s, "mail"); got != 7 {
					t.Errorf("ready = %d, want 7", got)
				}
			})
		}
		askers.Wait()
		if got := r.reads(); got != 1 {
			t.Errorf("%d reads for 1000 askers, want 1", got)
		}
		time.Sleep(999 * time.Millisecond)
		ready(t, s, "mail")
		if got := r.reads(); got != 2 {
			t.Errorf("%d reads once the sample is older than MaxAge, want 2", got)
		}
	})
}

// Ten thousand ScaledObjects that each ask for a queue of their own cost one read a second, not ten thousand.
func TestReadsDoNotGrowWithTheQueuesAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		s := newSampler(t, r, nil)
		for i := range 100 {
			ready(t, s, fmt.Sprintf("q%d", i)) // the first time each is news
		}
		before := r.reads()
		for i := range 3000 { // 10 s of polls, 300 a second
			ready(t, s, fmt.Sprintf("q%d", i%100))
			time.Sleep(time.Second / 300)
		}
		if got := r.reads() - before; got > 11 {
			t.Errorf("%d reads in 10 s, want one a second", got)
		}
	})
}

func TestReadsTakeAtMostATenthOfTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 500 * time.Millisecond}
		s := newSampler(t, r, nil)
		start := time.Now()
		for time.Since(start) < time.Minute {
			ready(t, s, "mail")
			time.Sleep(10 * time.Millisecond)
		}
		if busy := time.Duration(r.reads()) * r.takes; busy > time.Since(start)/10+r.takes {
			t.Errorf("reads took %v of %v, want a tenth", busy, time.Since(start))
		}
		if r.overlap != 1 {
			t.Errorf("%d reads at once, want 1", r.overlap)
		}
	})
}

func TestReadOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Second}
		r.ready("mail", 3)
		s := newSampler(t, r, nil)
		first, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Get(first, want("mail")); err == nil {
			t.Error("the first caller got an answer before there was one")
		}
		if got := ready(t, s, "mail"); got != 3 {
			t.Errorf("ready = %d, want 3", got)
		}
		if got := r.reads(); got != 1 {
			t.Errorf("%d reads, want the first caller's alone", got)
		}
	})
}

// Rule 1: what cannot be read is the last value for a while, then an error, and never a zero.
func TestFailedReadAnswersFromTheLastSampleThenFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("mail", 5)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		r.set(func(s *slow) { s.err = errors.New("connection refused") })
		time.Sleep(29 * time.Second)
		view, err := s.Get(t.Context(), want("mail"))
		if err != nil || view.Queues[0].Ready != 5 || view.Err == nil {
			t.Errorf("within StaleAfter: %+v, %v, want the last value with the reason of its age", view, err)
		}
		time.Sleep(2 * time.Second)
		view, err = s.Get(t.Context(), want("mail"))
		var unread *storage.Error
		if !errors.As(err, &unread) || unread.Kind != driver.Unavailable {
			t.Errorf("past StaleAfter: %+v, %v, want an Unavailable error", view, err)
		}
		r.set(func(s *slow) { s.err = nil })
		time.Sleep(time.Second)
		if got := ready(t, s, "mail"); got != 5 {
			t.Errorf("after recovery ready = %d, want 5", got)
		}
	})
}

func TestFailingSourceIsNotHammered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{err: errors.New("connection refused")}
		s := newSampler(t, r, nil)
		start := time.Now()
		for time.Since(start) < 30*time.Second {
			if _, err := s.Get(t.Context(), want("mail")); err == nil {
				t.Fatal("an answer from a source that cannot be read")
			}
			time.Sleep(3 * time.Millisecond)
		}
		if got := r.reads(); got > 40 {
			t.Errorf("%d reads in 30 s of failure, want about one a second", got)
		}
	})
}

// After an outage of reads that hang, the values are back when the streams are, and not when they have rested.
func TestValueIsReadAgainOnceAProbeHasSucceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Hour}
		r.ready("mail", 3)
		s := newSampler(t, r, nil)
		for range 2 {
			if _, err := s.Get(t.Context(), want("mail")); err == nil {
				t.Fatal("an answer from a source that hangs")
			}
			if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err == nil {
				t.Fatal("an answer from a source that hangs")
			}
		}
		r.set(func(r *slow) { r.takes = time.Millisecond })
		if _, err := s.Get(t.Context(), want("mail")); err == nil {
			t.Error("a source that hung a moment ago was asked without rest")
		}
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := ready(t, s, "mail"); got != 3 {
			t.Errorf("ready = %d, want 3", got)
		}
	})
}

// Where StaleAfter is short, the rest after slow reads is so, too.
func TestSlowSourceIsNotStaleByRestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 300 * time.Millisecond}
		r.ready("mail", 3)
		s := newSampler(t, r, func(o *sample.Options) { o.StaleAfter, o.Wait = 2*time.Second, 400*time.Millisecond })
		for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(3 * time.Millisecond) {
			if got := ready(t, s, "mail"); got != 3 {
				t.Fatalf("ready = %d, want 3", got)
			}
		}
	})
}

func TestHangingReadEndsByItsOwnTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Hour}
		s := newSampler(t, r, nil)
		start := time.Now()
		_, err := s.Get(t.Context(), want("mail"))
		var unread *storage.Error
		if !errors.As(err, &unread) || unread.Kind != driver.Timeout {
			t.Errorf("err = %v, want a Timeout", err)
		}
		if took := time.Since(start); took != sample.Defaults().Timeout {
			t.Errorf("took %v, want Timeout", took)
		}
	})
}

// Case 18 and rule 3: a value asked for right after a wake must not contradict it, nor be what the wake counted.
func TestNewQueueIsReadAtOnceWhileTheSourceRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Second}
		r.ready("late", 4)
		s := newSampler(t, r, nil)
		ready(t, s, "mail") // 9 s of rest follow
		start := time.Now()
		if got := ready(t, s, "late"); got != 4 {
			t.Errorf("ready = %d, want 4", got)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %v, want one read", took)
		}
	})
}

func TestScheduledJobIsToldOfWhenItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		due := make(chan string, 10)
		r := &slow{}
		r.set(func(s *slow) {
			s.queues = map[string]driver.Queue{
				"mail":  {Known: true, Scheduled: 1, NextDue: time.Minute},
				"early": {Known: true, Scheduled: 1, NextDue: 20 * time.Second},
			}
		})
		s := newDueSampler(t, r, nil, func(queue string) { due <- queue })
		start := time.Now()
		if _, err := s.Get(t.Context(), []driver.Want{{Queue: "mail", Lookahead: 10 * time.Second}, {Queue: "early"}}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			queue string
			after time.Duration
		}{{"early", 20 * time.Second}, {"mail", 50 * time.Second}} {
			if got := <-due; got != c.queue || time.Since(start) != c.after {
				t.Errorf("%q after %v, want %q after %v", got, time.Since(start), c.queue, c.after)
			}
		}
	})
}

// A read for a value may come between the time at which a job is due and the timer that waits a moment longer. The timer
// has nothing left to fire for then.
func TestScheduledJobIsToldOfWhenAReadFindsItBeforeTheTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		due := make(chan string, 10)
		r := &slow{takes: 200 * time.Millisecond, queues: map[string]driver.Queue{"mail": {Known: true, Scheduled: 1, NextDue: 20 * time.Second}}}
		s := newDueSampler(t, r, nil, func(queue string) { due <- queue })
		ready(t, s, "mail")
		time.Sleep(19*time.Second + 900*time.Millisecond) // the timer fires in another 100 ms
		r.set(func(s *slow) { s.takes = 0; s.queues["mail"] = driver.Queue{Known: true, Ready: 1} })
		ready(t, s, "mail")
		synctest.Wait()
		if len(due) != 1 || <-due != "mail" {
			t.Error("the streams are not told of the job that a read for a value has found")
		}
		time.Sleep(time.Minute)
		ready(t, s, "mail")
		if len(due) > 0 {
			t.Errorf("%q is said to be due once more", <-due)
		}
	})
}

// A look that is too early finds nothing and has to be paid for by a rest.
func TestScheduledJobIsNotToldOfBeforeItIsSureToBeDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes, in = 200 * time.Millisecond, 20 * time.Second
		due := make(chan string, 1)
		r := &slow{takes: takes, queues: map[string]driver.Queue{"mail": {Known: true, Scheduled: 1, NextDue: in}}}
		s := newDueSampler(t, r, nil, func(queue string) { due <- queue })
		start := time.Now()
		if _, err := s.Get(t.Context(), []driver.Want{{Queue: "mail"}}); err != nil {
			t.Fatal(err)
		}
		<-due
		if after := time.Since(start); after != takes+in {
			t.Errorf("told after %v, want %v: the source may have read its clock at the end of the read", after, takes+in)
		}
	})
}

func TestQueuesNobodyAsksForAreNoLongerRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{}
		s := newSampler(t, r, nil)
		ready(t, s, "gone")
		time.Sleep(6 * time.Minute)
		ready(t, s, "mail")
		ready(t, s, "mail")
		time.Sleep(2 * time.Second)
		ready(t, s, "mail")
		if last := r.requests[len(r.requests)-1]; len(last.Wants) != 1 || last.Wants[0].Queue != "mail" {
			t.Errorf("read %+v, want mail alone", last.Wants)
		}
	})
}

func TestTooManyQueuesAreRefusedUntilOldOnesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{}
		s := newSampler(t, r, func(o *sample.Options) { o.MaxWants = 2 })
		ready(t, s, "a")
		ready(t, s, "b")
		if _, err := s.Get(t.Context(), want("c")); !errors.Is(err, sample.ErrTooManyQueues) {
			t.Errorf("err = %v, want ErrTooManyQueues", err)
		}
		ready(t, s, "a")
		time.Sleep(6 * time.Minute)
		ready(t, s, "c")
	})
}

func TestNamesThatAreTooLongTogetherAreRefusedUntilOldOnesAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSampler(t, &slow{}, func(o *sample.Options) { o.MaxNames = 10 })
		ready(t, s, "images")
		ready(t, s, "mail")
		if _, err := s.Get(t.Context(), want("x")); !errors.Is(err, sample.ErrTooManyQueues) {
			t.Errorf("err = %v, want ErrTooManyQueues", err)
		}
		ready(t, s, "mail")
		time.Sleep(3 * time.Minute)
		ready(t, s, "mail")
		time.Sleep(3 * time.Minute)
		ready(t, s, "audio") // in place of images
		if _, err := s.Get(t.Context(), want("video")); !errors.Is(err, sample.ErrTooManyQueues) {
			t.Errorf("err = %v, want ErrTooManyQueues", err)
		}
	})
}

func TestCloseEndsReadsAndRefusesCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Hour}
		s := newSampler(t, r, func(o *sample.Options) { o.Timeout = math.MaxInt64 })
		answered := make(chan error)
		go func() {
			_, err := s.Get(t.Context(), want("mail"))
			answered <- err
		}()
		synctest.Wait()
		s.Close()
		if err := <-answered; err == nil {
			t.Error("a read that was cut off gave an answer")
		}
		if _, err := s.Get(t.Context(), want("mail")); !errors.Is(err, sample.ErrClosed) {
			t.Errorf("err = %v, want ErrClosed", err)
		}
	})
}

// Two streams with different thresholds share a queue: what one counted as far as it needed is not enough for the
// other.
// A restart with ten thousand objects: each queue is news, and must not have all the others read again.
func TestNewQueueIsReadAloneOrWithOtherNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		s := newSampler(t, r, nil)
		for i := range 50 {
			ready(t, s, fmt.Sprintf("q%d", i))
		}
		for _, req := range r.requests {
			if len(req.Wants) != 1 {
				t.Fatalf("a read of %d queues for one that is new", len(req.Wants))
			}
		}
	})
}

// The first read of a source connects, and any read may hit a slow moment: that must not delay the signal after it.
func TestVeryManyQueuesAreReadInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		s := newSampler(t, r, nil)
		names := make([]string, 2500)
		for i := range names {
			names[i] = fmt.Sprint("q", i)
			r.ready(names[i], int64(i))
		}
		view, err := s.Get(t.Context(), want(names...))
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			if q := &view.Queues[i]; q.Name != names[i] || q.Ready != int64(i) {
				t.Fatalf("queue %d is %+v", i, q)
			}
		}
		for _, req := range r.requests {
			if len(req.Wants) > 1000 {
				t.Errorf("a read of %d queues", len(req.Wants))
			}
		}
	})
}

// Somebody enqueues and asks at once: the empty sample of a moment ago is no answer.
func TestEmptySampleIsNoAnswerAfterASignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("busy", 5)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		ready(t, s, "busy")
		time.Sleep(100 * time.Millisecond)
		r.ready("mail", 3)
		s.Signal("mail")
		if got := ready(t, s, "mail"); got != 3 {
			t.Errorf("ready = %d after a signal, want 3", got)
		}
		time.Sleep(100 * time.Millisecond)
		before := r.reads()
		s.Signal("busy")
		s.Signal("other")
		ready(t, s, "busy")
		ready(t, s, "mail")
		if got := r.reads() - before; got != 0 {
			t.Errorf("%d reads for signals of queues that have work anyway, or that nobody asks for; want 0", got)
		}
	})
}

// A probe reads activity alone: it must never answer for a value, whose other fields it has not read.
// A job lands while a value is being read, and a probe sees it first: the value is as of its read, and no error.
// A probe has seen a job, and then the source is gone: the zero of before is no answer any more.
// A read of activity does not look for the next due job where there is work; what is known of it stays known.
