package bullmq_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func oldest(t *testing.T, engine driver.Reader) time.Duration {
	t.Helper()
	return redistest.ReadQueue(t, engine, "mail").Oldest
}

func TestTheOldestJobIsFoundInEachPlace(t *testing.T) {
	each(t, func(t *testing.T, layout int) {
		t.Helper()
		f, engine := start(t, layout)
		f.insert("mail", time.Hour, 0)
		f.insert("mail", time.Minute, 0)
		redistest.Near(t, "oldest of the list", oldest(t, engine), time.Hour)
		f.insert("mail", 2*time.Hour, 5)
		f.insert("mail", time.Minute, 1)
		redistest.Near(t, "oldest with a priority", oldest(t, engine), 2*time.Hour)
		f.Schedule("mail", 1, -3*time.Hour)
		redistest.Near(t, "oldest that is due", oldest(t, engine), 3*time.Hour)
	})
}

// Jobs of low priority are those that wait.
func TestTheOldestJobIsFoundInAnyOfTenPriorities(t *testing.T) {
	f, engine := start(t, 6)
	for priority := 1; priority <= 9; priority++ {
		f.insert("mail", time.Minute, priority*1000)
		f.insert("mail", 0, priority*1000)
	}
	f.insert("mail", time.Hour, 2_097_152) // the lowest that there is
	redistest.Near(t, "oldest", oldest(t, engine), time.Hour)
}

// Jobs of a stack are put where the next one is taken from.
func TestTheOldestJobOfAStackIsTheFirst(t *testing.T) {
	f, engine := start(t, 6)
	for _, age := range []time.Duration{time.Hour, time.Minute, 0} {
		s := f.open("mail")
		s.do("RPUSH", "wait", f.add(s, time.Now().Add(-age), 0, nil))
		f.run(s)
	}
	redistest.Near(t, "oldest", oldest(t, engine), time.Hour)
}

func TestAJobHasWaitedSinceItBecameReady(t *testing.T) {
	ago := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(-d).UnixMilli(), 10) }
	for what, tt := range map[string]struct {
		age, delay time.Duration
		fields     map[string]string
		want       time.Duration
	}{
		"after its delay":            {3 * time.Hour, 2 * time.Hour, map[string]string{"delay": "0"}, time.Hour},
		"after its last try":         {3 * time.Hour, 0, map[string]string{"processedOn": ago(20 * time.Minute)}, 20 * time.Minute},
		"whichever is later":         {3 * time.Hour, 2 * time.Hour, map[string]string{"processedOn": ago(2 * time.Hour)}, time.Hour},
		"though its options are odd": {time.Hour, 0, map[string]string{"opts": `{"delay":"soon"}`}, time.Hour},
		"though it has no options":   {time.Hour, 0, map[string]string{"opts": ""}, time.Hour},
		"though its delay is none":   {time.Hour, 0, map[string]string{"opts": `{"delay":1e99}`}, time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			f, engine := start(t, 6)
			s := f.open("mail")
			f.wait(s, f.add(s, time.Now().Add(-tt.age), tt.delay, tt.fields), 0)
			f.run(s)
			redistest.Near(t, "oldest", oldest(t, engine), tt.want)
		})
	}
}
