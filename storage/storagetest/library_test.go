//go:build unix && libraries

package storagetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// expect compares what a library says of the queue mail.
func expect(t *testing.T, l *Library, want Report) {
	t.Helper()
	if diff := cmp.Diff(want, l.Report("mail")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestBullMQDoesWhatItIsTold(t *testing.T) {
	for _, release := range []string{"bullmq3", "bullmq4", "bullmq5", "bullmq6"} {
		t.Run(release, func(t *testing.T) { testBullMQ(t, release) })
	}
}

func testBullMQ(t *testing.T, release string) {
	t.Helper()
	s := StartRedis(t, WithPassword("it's a secret"))
	l := OpenLibrary(t, Node(t, "bullmq"), map[string]any{"release": release, "url": s.URL(), "prefix": "{jobs}"})
	// counts is those that BullMQ told, of the states that this release has.
	counts := func(changed map[string]int) map[string]int {
		all := map[string]int{"active": 0, "completed": 0, "delayed": 0, "failed": 0, "waiting": 0, "waiting-children": 0}
		if release != "bullmq3" {
			all["prioritized"] = 0
		} else {
			changed["waiting"] += changed["prioritized"]
			delete(changed, "prioritized")
		}
		if release != "bullmq6" {
			all["paused"] = 0
		} else {
			changed["waiting"] += changed["paused"]
			delete(changed, "paused")
		}
		for name, n := range changed {
			all[name] = n
		}
		return all
	}

	ids := l.Enqueue("mail", 3, nil)
	l.Enqueue("mail", 2, map[string]any{"priority": 3})
	l.Schedule("mail", 1, time.Hour)
	l.Do("flow", map[string]any{"queue": "mail", "n": 1})
	l.Pause("mail")
	want := map[string]int{"paused": 3, "prioritized": 2, "delayed": 1, "waiting-children": 1}
	if release == "bullmq3" {
		want = map[string]int{"paused": 5, "delayed": 1, "waiting-children": 1}
	}
	expect(t, l, Report{Counts: counts(want), Paused: true})

	l.Resume("mail")
	l.Do("cancel", map[string]any{"queue": "mail", "jobs": ids[:1]})
	l.Start("mail", 2)
	expect(t, l, Report{Counts: counts(map[string]int{"active": 2, "prioritized": 2, "delayed": 1, "waiting-children": 1}), Workers: 1})
	l.Finish("mail")
	l.Start("mail", 1)
	l.Fail("mail", time.Hour)
	l.Start("mail", 1)
	l.FailForGood("mail")
	expect(t, l, Report{Counts: counts(map[string]int{"completed": 2, "delayed": 2, "failed": 1, "waiting-children": 1})})

	l.Schedule("mail", 2, -time.Hour) // stays delayed, as nobody works
	expect(t, l, Report{Counts: counts(map[string]int{"completed": 2, "delayed": 4, "failed": 1, "waiting-children": 1})})
	l.Enqueue("mail", 1, nil)
	l.Start("mail", 3)
	l.Abandon("mail")
	expect(t, l, Report{Counts: counts(map[string]int{"active": 3, "completed": 2, "delayed": 2, "failed": 1, "waiting-children": 1})})
	if keys, err := s.Do(t, "KEYS", "{jobs}:mail:*").AsStrSlice(); err != nil || len(keys) == 0 {
		t.Errorf("no keys with the prefix: %v", err)
	}
	if release >= "bullmq5" {
		l.Do("limit", map[string]any{"queue": "mail", "concurrency": 2})
		if got := text(t, s.Do(t, "HGET", "{jobs}:mail:meta", "concurrency")); got != "2" {
			t.Errorf("concurrency = %s, want 2", got)
		}
	}
}
