//go:build linux

package storagetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// offsets are told in turn; the last puts the clock right again.
var offsets = []time.Duration{0, time.Hour, -time.Hour, 0}

// tellsOffset fails the test unless a server's clock is off by what it was set to, give or take a loaded machine's delay.
func tellsOffset(t *testing.T, told func() time.Time, off time.Duration) {
	t.Helper()
	asked := time.Now()
	got := told().Sub(asked)
	if late := got - off; late < -2*time.Second || late > time.Since(asked)+2*time.Second {
		t.Errorf("the clock is off by %s, want %s", got, off)
	}
}

func TestClusterTellsTheTimeThatItsClockIsSetTo(t *testing.T) {
	c := StartCluster(t, OwnClock())
	conn := connect(t, c.SuperuserURL()) // a process that has looked at the clock before
	told := func(conn *pgx.Conn) func() time.Time {
		return func() (now time.Time) {
			if err := conn.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
				t.Fatal(err)
			}
			return now
		}
	}
	for _, off := range offsets {
		c.SetClock(t, off)
		tellsOffset(t, told(conn), off)
		tellsOffset(t, told(connect(t, c.SuperuserURL())), off)
	}
}

func TestRedisTellsTheTimeThatItsClockIsSetTo(t *testing.T) {
	s := StartRedis(t, WithOwnClock())
	for _, off := range offsets {
		s.SetClock(t, off)
		tellsOffset(t, func() time.Time {
			parts, err := s.Do(t, "TIME").AsIntSlice()
			if err != nil {
				t.Fatal(err)
			}
			return time.Unix(parts[0], parts[1]*1000)
		}, off)
	}
}
