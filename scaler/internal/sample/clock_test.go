package sample_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// A job is due by the source's clock. When that is set, no timer knows, and the next read of any queue tells.
func TestSetClockOfTheSourceMayMakeAnyJobDue(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				due := make(chan string, 10)
				r := &slow{
					takes:  100 * time.Millisecond,
					queues: map[string]driver.Queue{"later": {Known: true, Scheduled: 1, NextDue: 30 * time.Minute}},
				}
				s := newDueSampler(t, r, nil, func(queue string) { due <- queue })
				for range 3 {
					ready(t, s, "mail")
					ready(t, s, "later")
					time.Sleep(time.Minute)
				}
				if len(due) > 0 {
					t.Fatalf("%q is said to be due, and nobody has set the clock", <-due)
				}
				r.set(func(s *slow) { s.off = off })
				ready(t, s, "mail")
				if got := <-due; got != "" {
					t.Errorf("%q is said to be due, want every queue", got)
				}
				for range 3 { // the clock goes on from there
					time.Sleep(time.Minute)
					ready(t, s, "mail")
				}
				if len(due) > 0 {
					t.Errorf("%q is said to be due once more", <-due)
				}
			})
		})
	}
}

// A clock that is slewed, servers that take turns and reads that take long are no reason to look at everything all the time.
func TestClocksThatDifferALittleOrOftenCauseFewLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offs  [2]time.Duration // in turn
		takes time.Duration
		most  int
	}{
		"a second apart":         {offs: [2]time.Duration{0, time.Second}},
		"as far as a read takes": {offs: [2]time.Duration{0, 3 * time.Second}, takes: 1500 * time.Millisecond},
		"an hour apart":          {offs: [2]time.Duration{0, time.Hour}, most: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				r := &slow{takes: c.takes}
				s := newDueSampler(t, r, nil, func(string) { looks++ })
				for i, start := 0, time.Now(); time.Since(start) < 10*time.Second; i++ {
					r.set(func(s *slow) { s.off = c.offs[i%2] })
					if _, err := s.Fresh(t.Context(), nil, want("mail"), time.Now()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(10 * time.Millisecond)
				}
				synctest.Wait()
				if looks > c.most {
					t.Errorf("%d looks at everything in %d reads, want %d at most", looks, r.reads(), c.most)
				}
			})
		})
	}
}
