package rows_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

var now = time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)

func every() driver.Request { return driver.Request{Wants: []driver.Want{{}}} }

func named(names ...string) driver.Request {
	var req driver.Request
	for _, name := range names {
		req.Wants = append(req.Wants, driver.Want{Queue: name})
	}
	return req
}

func decode(columns []string, opts rows.Options, data ...[]any) ([]driver.Queue, error) {
	opts.Now = now
	d, err := rows.NewDecoder(columns, opts)
	if err != nil {
		return nil, err
	}
	for _, values := range data {
		if err := d.Add(values); err != nil {
			return nil, err
		}
	}
	return d.Queues(), nil
}

func TestDecoderReadsEveryColumnOfTheContract(t *testing.T) {
	columns := []string{
		"queue", "lookahead", "known", "ready", "running", "scheduled", "saturated", "oldest_seconds",
		"next_due_seconds", "paused", "workers", "capacity", "comment",
	}
	req := driver.Request{Wants: []driver.Want{{Queue: "mail", Lookahead: 100 * time.Millisecond}}}
	got, err := decode(columns, rows.Options{Request: req},
		[]any{"mail", 0.1, true, int64(3), int64(2), int64(1), false, 1.5, int64(60), true, int64(4), int64(40), "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{{
		Name: "mail", Lookahead: 100 * time.Millisecond, Known: true, Ready: 3, Running: 2, Scheduled: 1,
		Oldest: 1500 * time.Millisecond, NextDue: time.Minute, Paused: true,
		Pool: &driver.Pool{Workers: 4, Capacity: 40},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecoderComparesTimesToTheBackendsClock(t *testing.T) {
	columns := []string{"queue", "ready", "oldest_ready_at", "next_due_at"}
	text := now.In(time.FixedZone("", 2*3600)).Add(time.Hour).Format("2006-01-02 15:04:05Z07:00")
	got, err := decode(columns, rows.Options{Request: every(), Static: true, TextTimes: true},
		[]any{"past", int64(1), now.Add(-time.Minute), now.Add(time.Minute)},
		[]any{"wrong way", int64(1), now.Add(time.Minute), now.Add(-time.Minute)},
		[]any{"null", nil, nil, nil},
		[]any{"sqlite", int64(1), "2026-03-29 01:29:59.5", text})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{
		{Name: "past", Known: true, Ready: 1, Oldest: time.Minute, NextDue: time.Minute},
		{Name: "wrong way", Known: true, Ready: 1},
		{Name: "null", Known: true},
		{Name: "sqlite", Known: true, Ready: 1, Oldest: 500 * time.Millisecond, NextDue: time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecoderRefusesWhatBreaksTheContract(t *testing.T) {
	type table struct {
		columns []string
		rows    [][]any
		static  bool
		says    []string
	}
	one := func(column string, value any, says ...string) table {
		return table{
			[]string{"queue", "ready", column},
			[][]any{{"mail", int64(1), value}},
			true,
			append(says, `queue "mail"`, `"`+column+`"`),
		}
	}
	tests := map[string]table{
		"no ready column":        {[]string{"queue", "count"}, nil, true, []string{`no column "ready"`, "queue, count"}},
		"no queue column":        {[]string{"ready"}, nil, true, []string{`no column "queue"`}},
		"no lookahead column":    {[]string{"queue", "ready"}, nil, false, []string{`no column "lookahead"`}},
		"a column twice":         {[]string{"queue", "ready", "ready"}, nil, true, []string{`"ready" twice`}},
		"a queue in two rows":    {[]string{"queue", "ready"}, [][]any{{"mail", int64(1)}, {"mail", int64(2)}}, true, []string{`queue "mail"`, "two rows"}},
		"a queue without a name": {[]string{"queue", "ready"}, [][]any{{nil, int64(1)}}, true, []string{`"queue" is NULL`}},
		"an empty name":          {[]string{"queue", "ready"}, [][]any{{"", int64(1)}}, true, []string{`"queue" is empty`}},
		"a number as the name":   {[]string{"queue", "ready"}, [][]any{{int64(7), int64(1)}}, true, []string{`"queue"`, "cast it to text"}},
		"a row that is too short": {
			[]string{"queue", "ready", "running"},
			[][]any{{"mail", int64(1)}},
			true,
			[]string{`"running"`, "missing"},
		},
		"NaN":                  one("running", math.NaN(), "NaN", "whole number"),
		"infinity":             one("running", math.Inf(1), "+Inf"),
		"text":                 one("running", "12", `"12"`, "whole number"),
		"fraction":             one("running", 0.5, "0.5", "whole number"),
		"negative":             one("scheduled", int64(-2), "-2", "never negative"),
		"negative float":       one("scheduled", -2.0, "-2", "never negative"),
		"too many":             one("scheduled", 1e300, "more than can be counted"),
		"truth for a count":    one("workers", true, "truth value"),
		"NaN seconds":          one("oldest_seconds", math.NaN(), "finite"),
		"text seconds":         one("next_due_seconds", "soon", `"soon"`, "seconds"),
		"text time":            one("oldest_ready_at", "2026-03-29 01:00:00", "time"),
		"what no column takes": one("oldest_ready_at", rows.Unfit("a timestamp without time zone"), "without time zone"),
		"number for paused":    one("paused", int64(2), "true or false"),
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := decode(tt.columns, rows.Options{Request: every(), Static: tt.static}, tt.rows...)
			var known *driver.Error
			if !errors.As(err, &known) || known.Kind != driver.Contract {
				t.Fatalf("got %v, %v; want a contract error", got, err)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestDecoderTakesWholeNumbersOfAnyType(t *testing.T) {
	columns := []string{"queue", "ready", "paused"}
	got, err := decode(columns, rows.Options{Request: every(), Static: true},
		[]any{"a", 3.0, int64(1)}, []any{"b", nil, nil})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{{Name: "a", Known: true, Ready: 3, Paused: true}, {Name: "b", Known: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecoderAnswersForEveryNamedWant(t *testing.T) {
	columns := []string{"queue", "ready"}
	req := named("mail", "absent")
	got, err := decode(columns, rows.Options{Request: req, Static: true},
		[]any{"mail", int64(1)}, []any{"not wanted", int64(2)})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{{Name: "mail", Known: true, Ready: 1}, {Name: "absent"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecoderHoldsCountsToTheLimit(t *testing.T) {
	req := every()
	req.Limit = 10
	got, err := decode([]string{"queue", "ready", "running"}, rows.Options{Request: req, Static: true},
		[]any{"over", int64(11), int64(2)}, []any{"at", int64(10), int64(2)})
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Queue{
		{Name: "over", Known: true, Ready: 10, Running: 2, Saturated: true},
		{Name: "at", Known: true, Ready: 10, Running: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecoderRefusesRowsThatNobodyAskedFor(t *testing.T) {
	_, err := decode([]string{"queue", "ready", "lookahead"}, rows.Options{Request: named("mail")},
		[]any{"mail", int64(1), 5.0})
	if err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("got %v; want an error: a lookahead that comes back changed would read as a queue that is unknown", err)
	}
}

func TestDecoderRefusesLookaheadOfAStaticQuery(t *testing.T) {
	req := driver.Request{Wants: []driver.Want{{Queue: "mail", Lookahead: time.Second}}}
	if _, err := decode([]string{"queue", "ready"}, rows.Options{Request: req, Static: true}); err == nil {
		t.Error("want an error")
	}
}

func TestWantsLeavesOutNamesThatNoTextCanEqual(t *testing.T) {
	wants := []driver.Want{{}, {Queue: "a\x00b"}, {Queue: "\xff"}, {Queue: `q"uote <é>`, Lookahead: 1500 * time.Millisecond}}
	want := `[{"queue":null,"lookahead":0},{"queue":"q\"uote \u003cé\u003e","lookahead":1.5}]`
	if diff := cmp.Diff(want, rows.Wants(wants)); diff != "" {
		t.Error(diff)
	}
	if got := rows.Wants(nil); got != "[]" {
		t.Errorf("got %s for no wants", got)
	}
	got, err := decode([]string{"queue", "ready", "lookahead"}, rows.Options{Request: named("a\x00b")})
	if diff := cmp.Diff([]driver.Queue{{Name: "a\x00b"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
