package scaler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// Metadata without end, and objects that come and go, must not fill the memory.
func TestTriggersAreBoundedAndOldOnesMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ts triggers
		key := func(i int) triggerKey { return triggerKey{namespace: "team", name: fmt.Sprintf("worker-%06d", i)} }
		streaming := ts.get(key(0), time.Now())
		streaming.opened(nil)
		for i := range maxTriggers {
			ts.get(key(i), time.Now())
		}
		if passing := ts.get(key(maxTriggers), time.Now()); passing == ts.get(key(maxTriggers), time.Now()) {
			t.Error("one too many is remembered")
		}
		time.Sleep(triggerExpel / 2)
		ts.get(key(1), time.Now()) // asked again
		time.Sleep(triggerExpel/2 + time.Minute)
		if late := ts.get(key(maxTriggers), time.Now()); late != ts.get(key(maxTriggers), time.Now()) {
			t.Error("there is no room though nobody has asked for the others in an hour")
		}
		kept := ts.list()
		if len(kept) != 3 || kept[0] != streaming || kept[1].key != key(1) || kept[2].key != key(maxTriggers) {
			t.Errorf("%d triggers are kept, want the one with a stream, the one asked for and the new one", len(kept))
		}
	})
}

// With tens of thousands of triggers sorting takes long, and a page that is open looks four times a second.
func TestTriggersAreSortedOnceUntilOthersAreRemembered(t *testing.T) {
	t.Parallel()
	var ts triggers
	remember := func(name string) *trigger { return ts.get(triggerKey{namespace: "team", name: name}, time.Now()) }
	c, a := remember("c"), remember("a")
	first := ts.list()
	if diff := cmp.Diff([]string{"a", "c"}, names(first)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	remember("a")
	if again := ts.list(); &again[0] != &first[0] {
		t.Error("they were sorted again, though there is none that was not there before")
	}
	b := remember("b")
	if got := ts.list(); !slices.Equal(got, []*trigger{a, b, c}) {
		t.Errorf("with another there are %v", names(got))
	}
	if diff := cmp.Diff([]string{"a", "c"}, names(first)); diff != "" {
		t.Errorf("a list that was given out has changed (-want +got):\n%s", diff)
	}
}

func names(all []*trigger) []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = t.key.name
	}
	return out
}

// A trigger may list a hundred queues with names of half a kilobyte each: so many bytes of them are remembered, and no more.
func TestTriggersAreBoundedByWhatTheirMetadataTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ts triggers
		queues := strings.Repeat("q", 50_000) // the keys share it here; KEDA's calls would not
		key := func(i int) triggerKey {
			return triggerKey{name: fmt.Sprint(i), query: query.Query{Queues: queues}}
		}
		for i := range 10_000 {
			ts.get(key(i), time.Now())
		}
		if n := ts.count(); n < maxSpelled/60_000 || n > maxSpelled/50_000 {
			t.Errorf("%d triggers of 50 kB each are remembered", n)
		}
		small := triggerKey{name: "small"}
		first := ts.get(small, time.Now())
		if first != ts.get(small, time.Now()) {
			t.Error("a small one is not remembered, and there is room for it")
		}
		time.Sleep(triggerExpel + time.Minute)
		if late := ts.get(key(20_000), time.Now()); late != ts.get(key(20_000), time.Now()) || ts.count() != 1 {
			t.Errorf("there is no room after an hour: %d are remembered", ts.count())
		}
	})
}
