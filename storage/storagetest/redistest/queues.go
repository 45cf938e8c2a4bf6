package redistest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
)

// ButAges leaves the ages out of comparing queues, and ButWorkers the ages and the workers.
var (
	ButAges    = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")
	ButWorkers = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue", "Pool")
)

// Read reads wants, exactly, and returns the queues in the order of their names, then lookaheads. None may fail.
func Read(t *testing.T, engine driver.Reader, wants ...driver.Want) driver.Reading {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: wants})
	if err != nil || len(reading.Failed) > 0 {
		t.Fatalf("Read(%v): %v, failed: %v", wants, err, reading.Failed)
	}
	slices.SortFunc(reading.Queues, func(a, b driver.Queue) int {
		if by := strings.Compare(a.Name, b.Name); by != 0 {
			return by
		}
		return int(a.Lookahead - b.Lookahead)
	})
	return reading
}

// ReadQueue reads one queue, exactly.
func ReadQueue(t *testing.T, engine driver.Reader, name string) driver.Queue {
	t.Helper()
	return Read(t, engine, driver.Want{Queue: name}).Queues[0]
}

// Expect reads one queue, exactly, and compares it with want. It returns what it read, for what was left out of that.
func Expect(t *testing.T, engine driver.Reader, want driver.Queue, leaveOut ...cmp.Option) driver.Queue {
	t.Helper()
	got := ReadQueue(t, engine, want.Name)
	if diff := cmp.Diff(want, got, leaveOut...); diff != "" {
		t.Errorf("queue %q (-want +got):\n%s", want.Name, diff)
	}
	return got
}

// Agrees compares a queue with what the job library itself reports of it, and both with want, all but for the ages.
func Agrees(t *testing.T, engine driver.Reader, when string, want, reported driver.Queue) {
	t.Helper()
	if diff := cmp.Diff(want, reported, ButAges); diff != "" {
		t.Errorf("%s, the library reports (-want +reported):\n%s", when, diff)
	}
	if diff := cmp.Diff(reported, ReadQueue(t, engine, want.Name), ButAges); diff != "" {
		t.Errorf("%s, other than the library reports was read (-reported +read):\n%s", when, diff)
	}
}

// Unknown reads a queue that there is no trace of, and returns the notes, which have to say each of the parts, and nothing
// of a refusal.
func Unknown(t *testing.T, engine driver.Reader, queue string, says ...string) (notes string) {
	t.Helper()
	reading := Read(t, engine, driver.Want{Queue: queue})
	got := reading.Queues[0]
	if got.Pool != nil && *got.Pool == (driver.Pool{}) {
		got.Pool = nil // nobody works on it
	}
	if diff := cmp.Diff(driver.Queue{Name: queue}, got); diff != "" {
		t.Errorf("of a queue that there is not (-want +got):\n%s", diff)
	}
	notes = strings.Join(reading.Notes, "\n")
	if strings.Contains(notes, "refused") {
		t.Errorf("the notes %q tell of a refusal", notes)
	}
	for _, part := range says {
		if !strings.Contains(notes, part) {
			t.Errorf("the notes %q do not say %s", notes, part)
		}
	}
	return notes
}

// Fails reads a want, which has to be an error of the kind whose message says each of the parts.
func Fails(t *testing.T, engine driver.Reader, want driver.Want, kind driver.Kind, says ...string) {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err == nil {
		err = reading.Failed[want]
	}
	known, ok := errors.AsType[*driver.Error](err)
	if !ok || known.Kind != kind {
		t.Errorf("Read(%v) = %+v, %v; want an error of kind %s", want, reading, err, kind)
		return
	}
	for _, part := range says {
		if !strings.Contains(known.Message, part) {
			t.Errorf("%q does not say %q", known.Message, part)
		}
	}
}

// Near fails the test unless got is around want, give or take a minute: for ages of minutes and hours, on a machine that
// may be slow between the write and the read.
func Near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if !near(got, want) {
		t.Errorf("%s = %s, want about %s", what, got, want)
	}
}

func near(a, b time.Duration) bool { return (a - b).Abs() <= time.Minute }
