package driver_test

import (
	"slices"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
)

// settle answers a round with the values of its commands, and returns them.
func settle(t *testing.T, reads *driver.RedisReads, values map[string]any) (commands []string) {
	t.Helper()
	round := reads.Round()
	for _, reply := range round {
		command := reply.Command + " " + reply.Key
		value, ok := values[command]
		if !ok {
			t.Fatalf("%s is read, and the test has no value for it", command)
		}
		reply.Value = value
		commands = append(commands, command)
	}
	reads.Settle(round)
	return commands
}

// Queues that are found in a list are planned a round later than those that are named, and may ask for the same.
func TestThenIsCalledWhereAnEarlierRoundHasAnsweredAll(t *testing.T) {
	reads := driver.NewRedisReads()
	var got []int64
	shared := func(r *driver.RedisReads) {
		first := r.LLen("a")
		r.Then(func() error {
			second := r.HLen("b")
			r.Then(func() error {
				got = append(got, first.Int(), second.Int())
				return nil
			})
			return nil
		})
	}
	shared(reads.For(0))
	reads.For(1).Then(func() error { return nil })
	settle(t, reads, map[string]any{"LLEN a": int64(1)})
	if commands := settle(t, reads, map[string]any{"HLEN b": int64(2)}); !slices.Equal(commands, []string{"HLEN b"}) {
		t.Errorf("the second round reads %q", commands)
	}
	shared(reads.For(1)) // all of it is known
	reads.Settle(reads.Round())
	if want := []int64{1, 2, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestOnlyTheFirstRoundIsWatchedAndNotAllOfIt(t *testing.T) {
	reads := driver.NewRedisReads()
	r := reads.For(0)
	watched, lenient, unwatched := r.LLen("k"), r.Lenient().LLen("k"), r.Unwatched().LLen("k")
	if !watched.Watched || lenient.Watched || unwatched.Watched || !lenient.Lenient() || unwatched.Lenient() {
		t.Errorf("watched = %t, %t, %t", watched.Watched, lenient.Watched, unwatched.Watched)
	}
	if both := r.Lenient().Unwatched().HLen("k"); !both.Lenient() || both.Watched {
		t.Errorf("lenient and unwatched: %t, %t", both.Lenient(), both.Watched)
	}
	settle(t, reads, map[string]any{"LLEN k": int64(0), "HLEN k": int64(0)})
	if later := r.LLen("other"); later.Watched {
		t.Error("a read of the second round is watched")
	}
	if found := reads.For(1).LLen("found"); !found.Watched {
		t.Error("a queue that is found in a list is not watched")
	}
}

func TestHScanTakesMapsAndLists(t *testing.T) {
	for name, value := range map[string]any{
		"RESP2": []any{"17", []any{"a", "1", "b", "2"}},
		"RESP3": []any{"17", map[string]any{"a": "1", "b": "2"}},
	} {
		reads := driver.NewRedisReads()
		page := reads.For(0).HScan("h", "0", 10)
		settle(t, reads, map[string]any{"HSCAN h": value})
		if pairs := page.Pairs(); page.Cursor() != "17" || len(pairs) != 2 || pairs["b"] != "2" {
			t.Errorf("%s: cursor = %q, pairs = %v", name, page.Cursor(), pairs)
		}
	}
	for _, odd := range []any{nil, "0", []any{}, []any{"0"}, []any{nil, []any{}}, []any{"0", "x"}, []any{"0", []any{"a"}}} {
		reads := driver.NewRedisReads()
		reads.For(0).HScan("h", "0", 10)
		settle(t, reads, map[string]any{"HSCAN h": odd})
		if reads.Failed(0) == nil {
			t.Errorf("%v is taken for a page", odd)
		}
	}
}

// A cursor that comes again would be answered from the replies that are there already, for ever.
func TestNamesEndsWhereACursorComesAgain(t *testing.T) {
	for name, cursors := range map[string][]string{"at once": {"7", "7"}, "later": {"7", "5", "7"}} {
		reads := driver.NewRedisReads()
		var got []string
		reads.For(0).Names("s", func(name string) { got = append(got, name) })
		for i, cursor := range cursors {
			round := reads.Round()
			if len(round) != 1 {
				t.Fatalf("%s: %d reads in round %d, want 1", name, len(round), i)
			}
			round[0].Value = []any{cursor, []any{cursor}}
			reads.Settle(round)
		}
		if err := reads.Failed(0); err == nil || len(reads.Round()) > 0 || len(got) != len(cursors) {
			t.Errorf("%s: names %q, error %v", name, got, err)
		}
	}
}

func TestANoteIsSaidOnce(t *testing.T) {
	reads := driver.NewRedisReads()
	for owner := range 3 {
		reads.For(owner).Note("shared")
	}
	reads.For(0).Lenient().Note("alone")
	if got := reads.Notes(); !slices.Equal(got, []string{"shared", "alone"}) {
		t.Errorf("notes = %q", got)
	}
}
