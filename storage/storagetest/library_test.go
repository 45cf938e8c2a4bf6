//go:build unix && libraries

package storagetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// words is what a library calls what it counts; "" where it does not tell.
type words struct{ ready, running, scheduled, retried, failed, done string }

// live leads a library through the life of jobs, comparing after each step what the library tells of them.
func live(t *testing.T, l *Library, pauses bool, in words) {
	t.Helper()
	want := map[string]int{}
	step := func(what string, changes map[string]int) {
		t.Helper()
		for name, n := range changes {
			want[name] += n
		}
		got := map[string]int{}
		for name, n := range l.Report("mail").Counts {
			if _, told := want[name]; told {
				got[name] = n
			}
		}
		delete(want, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %s (-want +got):\n%s", what, diff)
		}
	}
	if ids := l.Enqueue("mail", 4, nil); len(ids) != 4 || ids[0] == ids[1] {
		t.Errorf("ids = %q, want 4", ids)
	}
	l.Schedule("mail", 1, time.Hour)
	step("enqueue and schedule", map[string]int{in.ready: 4, in.scheduled: 1})
	if pauses {
		l.Pause("mail")
		if !l.Report("mail").Paused {
			t.Error("the queue is not paused")
		}
		l.Resume("mail")
		if l.Report("mail").Paused {
			t.Error("the queue is not resumed")
		}
	}
	l.Start("mail", 2)
	step("start", map[string]int{in.ready: -2, in.running: 2})
	l.Finish("mail")
	step("finish", map[string]int{in.running: -2, in.done: 2})
	l.Start("mail", 1)
	l.Fail("mail", time.Hour)
	step("fail", map[string]int{in.ready: -1, in.retried: 1})
	l.Start("mail", 1)
	l.FailForGood("mail")
	step("fail for good", map[string]int{in.ready: -1, in.failed: 1})
	l.Enqueue("mail", 1, nil)
	l.Start("mail", 1)
	l.Abandon("mail")
	step("abandon", map[string]int{in.running: 1})
}

func TestBullMQDoesWhatItIsTold(t *testing.T) {
	for _, release := range []string{"bullmq3", "bullmq4", "bullmq5", "bullmq6"} {
		t.Run(release, func(t *testing.T) {
			s := StartRedis(t, WithPassword("it's a secret"))
			l := OpenLibrary(t, Node(t, "bullmq"), map[string]any{"release": release, "url": s.URL(), "prefix": "{jobs}"})
			live(t, l, true, words{"waiting", "active", "delayed", "delayed", "failed", "completed"})

			before := l.Report("mail").Counts
			ids := l.Enqueue("mail", 2, map[string]any{"priority": 3})
			l.Schedule("mail", 2, -time.Hour) // stays delayed, as nobody works
			l.Do("flow", map[string]any{"queue": "mail", "n": 1})
			l.Do("cancel", map[string]any{"queue": "mail", "jobs": ids[:1]})
			after := l.Report("mail").Counts
			// Before 4, the jobs with a priority are among the others. (And when some come before that, while a marker of a
			// delayed job waits, BullMQ 3 counts the marker.)
			added := after["waiting"] - before["waiting"] + after["prioritized"]
			if after["delayed"] != before["delayed"]+2 || after["waiting-children"] != 1 || added != 1 {
				t.Errorf("counts = %v after %v", after, before)
			}
			if release >= "bullmq5" {
				l.Do("limit", map[string]any{"queue": "mail", "concurrency": 2})
				if got := text(t, s.Do(t, "HGET", "{jobs}:mail:meta", "concurrency")); got != "2" {
					t.Errorf("concurrency = %s, want 2", got)
				}
			}
		})
	}
}

func TestBullDoesWhatItIsTold(t *testing.T) {
	s := StartRedis(t, WithPassword("it's a secret"))
	l := OpenLibrary(t, Node(t, "bull"), map[string]any{"url": s.URL(), "prefix": "{jobs}"})
	live(t, l, true, words{"waiting", "active", "delayed", "delayed", "failed", "completed"})

	before := l.Report("mail").Counts["delayed"]
	l.Schedule("mail", 2, -time.Hour) // stays delayed, as nobody works
	ids := l.Enqueue("mail", 2, map[string]any{"priority": 3})
	l.Enqueue("mail", 1, map[string]any{"repeat": map[string]any{"every": 3_600_000}})
	l.Do("cancel", map[string]any{"queue": "mail", "jobs": ids[:1]})
	got := l.Report("mail").Counts
	if got["delayed"] != before+3 || got["waiting"] != 1 {
		t.Errorf("delayed, waiting = %d, %d; want %d, 1", got["delayed"], got["waiting"], before+3)
	}
}

func TestBeeQueueDoesWhatItIsTold(t *testing.T) {
	s := StartRedis(t, WithPassword("it's a secret"))
	l := OpenLibrary(t, Node(t, "bee-queue"), map[string]any{"url": s.URL(), "prefix": "jobs"})
	live(t, l, false, words{"waiting", "active", "delayed", "delayed", "failed", "succeeded"})

	ids := l.Enqueue("mail", 2, nil)
	l.Do("cancel", map[string]any{"queue": "mail", "jobs": ids[:1]})
	if got := l.Report("mail").Counts["waiting"]; got != 1 {
		t.Errorf("waiting = %d, want 1", got)
	}
}

func TestSidekiqDoesWhatItIsTold(t *testing.T) {
	s := StartRedis(t, WithPassword("it's a secret"))
	l := OpenLibrary(t, Script(t, "ruby", "sidekiq.rb"), map[string]any{"url": s.URL()})
	live(t, l, false, words{"enqueued", "busy", "scheduled", "retry", "dead", ""})

	if n := l.Report("mail").Workers; n != 1 { // the one that was killed
		t.Errorf("workers = %d, want 1", n)
	}
	l.Schedule("mail", 2, -time.Hour) // stays scheduled, as nobody works
	ids := l.Enqueue("mail", 1, map[string]any{"retry": 3})
	job := text(t, s.Do(t, "LINDEX", "queue:mail", "0"))
	if !strings.Contains(job, ids[0]) || !strings.Contains(job, `"retry":3`) {
		t.Errorf("job = %s, want %s with retry 3", job, ids[0])
	}
	if got := l.Report("mail").Counts["scheduled"]; got != 3 {
		t.Errorf("scheduled = %d, want 3", got)
	}
}

func TestCeleryDoesWhatItIsTold(t *testing.T) {
	s := StartRedis(t, WithPassword("it's a secret"))
	l := OpenLibrary(t, Python(t, "drive_celery", "celery"), map[string]any{"url": s.URL(), "config": map[string]any{
		"task_acks_late": true, "broker_transport_options": map[string]any{"global_keyprefix": "app:"},
	}})
	step := func(what string, messages, active, scheduled, unacked int) {
		t.Helper()
		want := map[string]int{"messages": messages, "active": active, "reserved": 0, "scheduled": scheduled}
		if diff := cmp.Diff(want, l.Report("mail").Counts); diff != "" {
			t.Fatalf("after %s (-want +got):\n%s", what, diff)
		}
		if n := int(integer(t, s.Do(t, "HLEN", "app:unacked"))); n != unacked {
			t.Fatalf("after %s: %d unacknowledged, want %d", what, n, unacked)
		}
	}
	l.Enqueue("mail", 2, nil)
	l.Enqueue("mail", 1, map[string]any{"priority": 6})
	step("enqueue", 3, 0, 0, 0)
	if n := integer(t, s.Do(t, "LLEN", "app:mail\x06\x166")); n != 1 {
		t.Errorf("%d tasks in the list of priority 6, want 1", n)
	}
	l.Start("mail", 2)
	step("start", 1, 2, 0, 2)
	l.Finish("mail")
	step("finish", 1, 0, 0, 0)
	l.Start("mail", 1)
	l.Fail("mail", time.Hour) // puts a message for later into the queue
	step("fail", 1, 0, 0, 0)
	l.Enqueue("mail", 1, map[string]any{"priority": 6}) // behind it
	l.Start("mail", 1)
	step("start beside one for later", 0, 1, 1, 2)
	l.FailForGood("mail")
	step("fail for good", 1, 0, 0, 0)
	l.Schedule("mail", 1, time.Hour)
	step("schedule", 2, 0, 0, 0)
	l.Enqueue("mail", 1, nil)
	l.Start("mail", 1)
	l.Abandon("mail")
	step("abandon", 0, 0, 0, 3)
}

func TestCeleryTakesMoreThanItBeginsUnlessItAcknowledgesLate(t *testing.T) {
	s := StartRedis(t)
	l := OpenLibrary(t, Python(t, "drive_celery", "celery"), map[string]any{"url": s.URL(), "config": map[string]any{"worker_prefetch_multiplier": 2}})
	l.Enqueue("mail", 5, nil)
	l.Start("mail", 1)
	until(t, "Celery has two tasks in reserve", func() bool { return l.Report("mail").Counts["reserved"] == 2 })
	want := map[string]int{"messages": 2, "active": 1, "reserved": 2, "scheduled": 0}
	if diff := cmp.Diff(want, l.Report("mail").Counts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := integer(t, s.Do(t, "HLEN", "unacked")); n != 2 {
		t.Errorf("%d unacknowledged, want the 2 in reserve", n)
	}
}

func TestRQDoesWhatItIsTold(t *testing.T) {
	s := StartRedis(t)
	l := OpenLibrary(t, Python(t, "drive_rq", "rq"), map[string]any{"url": s.URL()})
	live(t, l, false, words{"queued", "started", "scheduled", "scheduled", "failed", "finished"})
	l.Do("suspend", nil)
	if !l.Report("mail").Paused {
		t.Error("the workers are not suspended")
	}
	l.Do("resume", nil)
	if l.Report("mail").Paused {
		t.Error("the workers are not resumed")
	}
}
