package sidekiq_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// sidekiq6 is the info of a process of Sidekiq 6; it has no field of its concurrency beside it.
func sidekiq6(threads int, queues ...string) map[string]any {
	return map[string]any{"hostname": "web", "pid": 1, "tag": "app", "concurrency": threads, "queues": queues, "labels": []string{}}
}

// sidekiq7 is the info of a process of Sidekiq 7.
func sidekiq7(threads int, queues ...string) map[string]any {
	info := sidekiq6(threads, queues...)
	weights := map[string]int{}
	for _, queue := range queues {
		weights[queue] = 1
	}
	info["version"], info["weights"], info["embedded"] = "7.3.9", []any{weights}, false
	return info
}

// capsules is the info of a process of Sidekiq 8 with two capsules.
func capsules() map[string]any {
	info := sidekiq8(0)
	info["queues"] = []string{"mail", "low", "images"}
	info["capsules"] = map[string]any{
		"default": map[string]any{"concurrency": 10, "mode": "weighted", "weights": map[string]any{"mail": 3, "low": 1}},
		"single":  map[string]any{"concurrency": 1, "mode": "strict", "weights": map[string]any{"images": 0}},
	}
	return info
}

func TestRunningAndWorkersAreReadOfEveryVersion(t *testing.T) {
	work := map[string]int{"mail": 2, "images": 1}
	for name, tt := range map[string]struct {
		w    worker
		want driver.Pool
	}{
		"6.0 to 6.4":      {worker{info: sidekiq6(7, "mail", "images"), workKey: ":workers"}, driver.Pool{Workers: 1, Capacity: 7}},
		"6.5":             {worker{info: sidekiq6(7, "mail", "images"), workKey: ":work"}, driver.Pool{Workers: 1, Capacity: 7}},
		"7":               {worker{info: sidekiq7(7, "mail", "images"), threads: 7}, driver.Pool{Workers: 1, Capacity: 7}},
		"8":               {worker{info: sidekiq8(7, "mail", "images"), threads: 7}, driver.Pool{Workers: 1, Capacity: 7}},
		"8 with capsules": {worker{info: capsules(), threads: 11}, driver.Pool{Workers: 1, Capacity: 10}},
		"quiet":           {worker{info: sidekiq8(7, "mail", "images"), threads: 7, quiet: true}, driver.Pool{Workers: 0, Capacity: 2}},
		"no JSON":         {worker{info: nil}, driver.Pool{}},
		"of a form to come": {
			worker{info: map[string]any{"version": "12", "queues": map[string]any{"mail": 1}, "concurrency": "many"}}, driver.Pool{},
		},
	} {
		f, engine := on(t, driver.RedisOptions{})
		f.Do("SADD", "queues", "mail")
		tt.w.work = work
		if tt.w.workKey == ":workers" {
			f.Do("HSET", "unrelated:work", "tid", "{}")
		}
		id := f.start(tt.w)
		if name == "6.0 to 6.4" || name == "6.5" {
			f.Do("HDEL", id, "concurrency")
		}
		if name == "no JSON" {
			f.Do("HSET", id, "info", "\x00{")
		}
		want := driver.Queue{Name: "mail", Known: true, Running: 2, Pool: &tt.want}
		if diff := cmp.Diff(want, redistest.ReadQueue(t, engine, "mail")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAProcessCountsAsLongAsItBeats(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	work := map[string]int{"mail": 2}
	f.start(worker{info: sidekiq8(5, "mail"), threads: 5, work: work, beat: -50 * time.Second})
	f.start(worker{info: sidekiq8(5, "mail"), threads: 5, work: work, beat: -70 * time.Second})
	f.start(worker{info: sidekiq8(5, "mail"), threads: 5, work: work, expired: true})
	f.start(worker{info: sidekiq8(5, "images"), threads: 5, work: map[string]int{"images": 2}})
	id := f.start(worker{info: sidekiq8(5, "mail"), threads: 5, work: work})
	f.Do("HSET", id, "beat", "just now") // says nothing; Redis would have forgotten it
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 4, Pool: &driver.Pool{Workers: 2, Capacity: 10}})
}

// What a process runs is its jobs, with all their arguments: they are read only where it takes jobs of other queues, too.
func TestWorkIsReadOnlyOfBusyProcessesWithSeveralQueues(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	f.start(worker{identity: "one:1:0123456789ab", info: sidekiq8(5, "mail"), work: map[string]int{"mail": 3}})
	f.start(worker{identity: "idle:1:0123456789ab", info: sidekiq8(5, "mail", "images")})
	f.start(worker{identity: "two:1:0123456789ab", info: sidekiq8(5, "mail", "images"), work: map[string]int{"mail": 1, "images": 1}})
	f.start(worker{identity: "other:1:0123456789ab", info: sidekiq8(5, "images", "low"), work: map[string]int{"images": 1}})
	q, commands := plan(t, f, "mail", true)
	if q.Running != 4 {
		t.Errorf("running = %d, want 4", q.Running)
	}
	if strings.Count(commands, "HGETALL") != 1 || !strings.Contains(commands, "HGETALL two:1:0123456789ab:work") {
		t.Errorf("other work was read:\n%s", commands)
	}
}

// A process does not tell how busy it is, or there is work that is no JSON: what can be read counts.
func TestMalformedWorkIsNoOnes(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	id := f.start(worker{info: sidekiq8(5, "mail"), threads: 5, work: map[string]int{"mail": 3}})
	f.Do("HSET", id, "busy", "very")
	f.Do("HSET", id+":work", "a", "", "b", "\xff{", "c", `["mail"]`, "d", `{"queue":{"mail":1}}`)
	if got := redistest.ReadQueue(t, engine, "mail").Running; got != 3 {
		t.Errorf("running = %d, want 3", got)
	}
}

// super_fetch moves a job into a list of the process, where it is until it is done. That is seen at once, and is running.
func TestWhatSuperFetchTookIsRunningAtOnce(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Insert("mail", 3)
	id := f.start(worker{info: sidekiq8(5, "mail", "images"), threads: 5})
	f.Do("LMOVE", "queue:mail", "queue:sq|"+id+"|mail", "RIGHT", "LEFT")
	f.Do("LMOVE", "queue:mail", "queue:sq|"+id+"|mail", "RIGHT", "LEFT")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 2})
	names, _ := list(t, f)
	if diff := cmp.Diff(map[string]bool{"mail": true, "images": true}, names); diff != "" {
		t.Errorf("queues: %s", diff)
	}
}

func TestAThousandProcessesAreLookedAtAtMost(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	identities := make([]string, 1001)
	for i := range identities {
		identities[i] = fmt.Sprintf("pod-%d:1:0123456789ab", i)
	}
	f.Do("SADD", "processes", identities...)
	q, commands := plan(t, f, "mail", true)
	if n := strings.Count(commands, "HMGET"); n != 1000 || !q.Saturated {
		t.Errorf("%d were looked at, saturated = %t; want 1000, true", n, q.Saturated)
	}
	f.Do("SREM", "processes", identities[0])
	q, commands = plan(t, f, "mail", true)
	if n := strings.Count(commands, "HMGET"); n != 1000 || q.Saturated {
		t.Errorf("of 1,000, %d were looked at, saturated = %t; want 1000, false", n, q.Saturated)
	}
}
