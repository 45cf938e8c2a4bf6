package postgres

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEchoesComeAfterTheLastNotificationOnly(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	s := newEchoes([]time.Duration{50 * time.Millisecond, 110 * time.Millisecond})
	end := at(1_000_000)
	var got []string
	// The clock jumps from one deadline to the next.
	run := func(untilMS int) {
		for next := s.until(end); !next.After(at(untilMS)); next = s.until(end) {
			s.due(next, func(queue string) {
				got = append(got, queue+" "+strconv.FormatInt(next.Sub(start).Milliseconds(), 10))
			})
		}
	}
	s.after("a", at(0))
	s.after("b", at(10))
	run(55)
	s.after("a", at(56)) // anew, before the second echo
	run(1000)
	want := []string{"a 50", "b 60", "a 106", "b 120", "a 166"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !s.until(end).Equal(end) || len(s.byName) != 0 {
		t.Error("something is left over")
	}
}

func TestEchoesThatWereMissedComeOnce(t *testing.T) {
	s := newEchoes([]time.Duration{1, 2, 3})
	start := time.Now()
	s.after("a", start)
	n := 0
	s.due(start.Add(time.Hour), func(string) { n++ })
	if n != 1 || len(s.heap) != 0 {
		t.Errorf("got %d signals and %d left, want 1 and none", n, len(s.heap))
	}
}

func TestEchoesOfManyQueuesAreBounded(t *testing.T) {
	s := newEchoes([]time.Duration{time.Second})
	start := time.Now()
	for i := range 10 * maxEchoes {
		s.after(strconv.Itoa(i), start)
	}
	if len(s.heap) > maxEchoes+1 || len(s.byName) > maxEchoes+1 {
		t.Errorf("%d echoes are kept, want at most %d", len(s.heap), maxEchoes+1)
	}
	all := false
	s.due(start.Add(time.Second), func(queue string) { all = all || queue == "" })
	if !all {
		t.Error("the queues that did not fit are not echoed")
	}
}

func TestQueueOfReadsEachForm(t *testing.T) {
	tests := []struct{ form, payload, want string }{
		{"none", "mail", ""},
		{"", "mail", ""},
		{"=queue", "mail", "mail"},
		{"=queue", "", ""},
		{"queue", `{"queue": "mail"}`, "mail"},
		{"queue", `{"action": "pause", "queue": "*"}`, ""},
		{"job.queue", `{"job": {"queue": "mail"}}`, "mail"},
		{"queue", `{"queue": 7}`, ""},
		{"queue", `{"other": "mail"}`, ""},
		{"queue.deeper", `{"queue": "mail"}`, ""},
		{"queue", `["mail"]`, ""},
		{"queue", `{"queue": "ma`, ""},
		{"queue", "", ""},
	}
	for _, tt := range tests {
		if got := queueOf(tt.form, tt.payload); got != tt.want {
			t.Errorf("queueOf(%q, %q) = %q, want %q", tt.form, tt.payload, got, tt.want)
		}
	}
}
