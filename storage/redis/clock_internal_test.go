package redis

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockRunsOnWithoutBeingAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		if _, ok := c.now(); ok {
			t.Error("the clock knows the time before it was told")
		}
		server := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		if c.set(server, time.Now()) {
			t.Error("the first time was a jump")
		}
		time.Sleep(5 * time.Second)
		if now, _ := c.now(); !now.Equal(server.Add(5 * time.Second)) {
			t.Errorf("after five seconds it is %s", now)
		}
		if c.set(server.Add(5*time.Second+300*time.Millisecond), time.Now()) {
			t.Error("a drift of 0.3 s was a jump")
		}
		before, _ := c.now()
		if c.set(server.Add(5*time.Second+200*time.Millisecond), time.Now()) {
			t.Error("a tenth of a second was a jump")
		}
		if now, _ := c.now(); now.Before(before) {
			t.Errorf("the clock went back from %s to %s", before, now)
		}
		if !c.set(server.Add(time.Minute), time.Now()) || !c.set(server, time.Now()) {
			t.Error("a minute forth and back was no jump")
		}
		if now, _ := c.now(); !now.Equal(server) {
			t.Errorf("after the jump it is %s, want %s", now, server)
		}
	})
}

func TestServerTimeIsSecondsAndMicroseconds(t *testing.T) {
	got, err := serverTime([]string{"1700000000", "250000"})
	if want := time.UnixMilli(1700000000250); err != nil || !got.Equal(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, bad := range [][]string{nil, {"1"}, {"x", "1"}, {"1", "x"}} {
		if _, err := serverTime(bad); err == nil {
			t.Errorf("%q was taken for a time", bad)
		}
	}
}
