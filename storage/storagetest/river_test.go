package storagetest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

func TestRiverFixtureWritesEachStateOnPostgres(t *testing.T) {
	testRiverStates(t, RiverPostgres(t, Postgres(t)))
}

func TestRiverFixtureWritesEachStateInASchemaOfItsOwn(t *testing.T) {
	testRiverStates(t, RiverPostgresIn(t, Postgres(t), `MyJobs`))
}

func TestRiverFixtureWritesEachStateOnSQLite(t *testing.T) {
	testRiverStates(t, RiverSQLite(t, filepath.Join(t.TempDir(), "jobs 100%?.db")))
}

// A riverJob is what of a job decides how it counts.
type riverJob struct {
	State    rivertype.JobState
	Due      bool // scheduled_at has passed
	Claimed  bool // attempted_at is of the last hour
	Attempts int
}

func testRiverStates[TTx any](t *testing.T, f *River[TTx]) {
	t.Helper()
	f.Run("running", 1)
	f.Orphan("orphan", 1, 40*24*time.Hour)
	f.Fail("failed", 1, time.Hour)
	f.Fail("failed-due", 1, -time.Minute)
	f.Snooze("snoozed", 1, time.Hour)
	f.Finish("finished", 1)
	f.Cancel("cancelled", 1)
	f.Insert("ready", 1)
	f.Insert(`x'; DROP TABLE river_job;--`, 1)
	f.Schedule("scheduled", 1, time.Hour)
	f.Schedule("scheduled-due", 1, -time.Minute)
	f.Pause("paused")

	want := map[string]riverJob{
		"running":                     {State: "running", Due: true, Claimed: true, Attempts: 1},
		"orphan":                      {State: "running", Due: true, Attempts: 1},
		"failed":                      {State: "retryable", Claimed: true, Attempts: 1},
		"failed-due":                  {State: "retryable", Due: true, Claimed: true, Attempts: 1},
		"snoozed":                     {State: "scheduled", Claimed: true},
		"finished":                    {State: "completed", Due: true, Claimed: true, Attempts: 1},
		"cancelled":                   {State: "cancelled", Due: true},
		"ready":                       {State: "available", Due: true},
		`x'; DROP TABLE river_job;--`: {State: "available", Due: true},
		"scheduled":                   {State: "scheduled"},
		"scheduled-due":               {State: "scheduled", Due: true},
	}
	list, err := f.Client().JobList(t.Context(), river.NewJobListParams().First(100))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]riverJob{}
	for _, j := range list.Jobs {
		got[j.Queue] = riverJob{
			State: j.State, Due: !j.ScheduledAt.After(time.Now()), Attempts: j.Attempt,
			Claimed: j.AttemptedAt != nil && time.Since(*j.AttemptedAt) < time.Hour,
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs by queue (-want +got):\n%s", diff)
	}
	queue, err := f.Client().QueueGet(t.Context(), "paused")
	if err != nil || queue.PausedAt == nil {
		t.Errorf("the paused queue is %+v, %v", queue, err)
	}
}

func TestRiverFixtureAnnouncesInserts(t *testing.T) {
	url := Postgres(t)
	f := RiverPostgres(t, url)
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), `LISTEN "public.river_insert"`); err != nil {
		t.Fatal(err)
	}
	f.Insert("mail", 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n.Payload != `{"queue": "mail"}` {
		t.Errorf("payload = %s", n.Payload)
	}
}

// The fixtures' types are part of what tests see.
var (
	_ func(testing.TB, string) *River[pgx.Tx]  = RiverPostgres
	_ func(testing.TB, string) *River[*sql.Tx] = RiverSQLite
)
