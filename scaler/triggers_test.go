package scaler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
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
