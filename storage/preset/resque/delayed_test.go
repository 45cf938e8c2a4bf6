package resque_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// The jobs of an instant are of all queues, and which queue one is for is said at its end.
func TestDelayedJobsBelongToTheQueueThatTheyName(t *testing.T) {
	f, engine := on(t)
	long := strings.Repeat(`{"queue":"args"},`, 1<<15)
	f.delay(time.Now().Add(-time.Minute),
		`{"class":"Work","args":[`+long+`0],"queue":"mail"}`,
		`{"class":"Work","args":[]}`, // of a resque-scheduler that looks it up in the class
		`no JSON at all`, "",
		`{"class":"Work","args":[],"queue":"ma\u0069l"}`,
		`{"class":"Work","args":[],"queue":"Mail"}`,
	)
	f.Do("ZADD", "delayed_queue_schedule", "-inf", "soon", "inf", "never")
	f.Do("RPUSH", "delayed:soon", `{"queue":"mail"}`)
	f.Do("RPUSH", "delayed:never", `{"queue":"mail"}`)
	for _, want := range []driver.Queue{
		{Name: "mail", Known: true, Ready: 3, Scheduled: 1}, {Name: "Mail", Known: true, Ready: 1}, {Name: "args"},
	} {
		expect(t, engine, want)
	}
	if due := redistest.ReadQueue(t, engine, "mail").NextDue; due < 200*365*24*time.Hour {
		t.Errorf("the job that is never due is due in %s", due)
	}
}

// An instant's list can be gone before it leaves the schedule.
func TestAnEmptyInstantIsNoJob(t *testing.T) {
	f, engine := on(t)
	f.Insert("mail", 1)
	f.Do("ZADD", "delayed_queue_schedule", "1000000000", "1000000000", "9000000000", "9000000000")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

func TestMoreDelayedJobsThanAreReadSaturate(t *testing.T) {
	for name, tt := range map[string]struct {
		write        func(f fixture)
		mail, images int64
		saturated    bool
		mostCommands int
	}{
		"1,000 of one instant": {
			func(f fixture) { f.Schedule("images", 997, -time.Minute); f.Schedule("mail", 3, -time.Minute) }, 3, 997, false, 20,
		},
		"1,001 of two instants": {
			func(f fixture) { f.Schedule("images", 998, -time.Hour); f.Schedule("mail", 3, -time.Minute) }, 2, 998, true, 20,
		},
		"5,000 of one instant": {
			func(f fixture) { f.Schedule("images", 5000, -time.Hour); f.Schedule("mail", 3, -time.Minute) }, 0, 1000, true, 20,
		},
		"300 instants": {
			func(f fixture) {
				for i := range 300 {
					f.Schedule("images", 1, -time.Duration(400-i)*time.Second)
				}
				f.Schedule("mail", 3, -time.Minute)
			}, 0, 250, true, 600,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, engine := on(t)
			tt.write(f)
			for queue, ready := range map[string]int64{"mail": tt.mail, "images": tt.images} {
				expect(t, engine, driver.Queue{Name: queue, Known: ready > 0, Ready: ready, Saturated: tt.saturated})
			}
			if _, commands := plan(t, f, false); strings.Count(commands, "\n") > tt.mostCommands {
				t.Errorf("%d commands, want at most %d", strings.Count(commands, "\n"), tt.mostCommands)
			}
		})
	}
}

// A job that lies behind those that are read is not forgotten: the sample is to be taken again when they are due.
func TestAJobBehindManyOthersIsLookedForInTime(t *testing.T) {
	f, _ := on(t)
	for i := range 260 {
		f.Schedule("images", 1, 10*time.Minute+time.Duration(i)*10*time.Second)
	}
	f.Schedule("mail", 1, 2*time.Hour)
	for _, activity := range []bool{true, false} {
		q, _ := plan(t, f, activity)
		want := 10*time.Minute + 2490*time.Second // of the 250th instant
		if activity {
			want = 10*time.Minute + 490*time.Second // of the 50th
		}
		redistest.Near(t, "the next look", q.NextDue, want)
		if q.Ready != 0 || q.Scheduled != 0 || q.Saturated == activity {
			t.Errorf("activity = %t: %+v", activity, q)
		}
	}
	f.Do("DEL", "delayed_queue_schedule")
	f.Schedule("images", 2000, time.Hour)
	f.Schedule("mail", 1, 2*time.Hour)
	q, _ := plan(t, f, true)
	redistest.Near(t, "the next look, with too many jobs at one instant", q.NextDue, time.Hour)
	f.Do("DEL", "delayed_queue_schedule")
	f.Schedule("images", 1, 30*time.Minute)
	f.Schedule("mail", 1, 2*time.Hour)
	q, _ = plan(t, f, true)
	redistest.Near(t, "next due, all being read", q.NextDue, 2*time.Hour)
}
