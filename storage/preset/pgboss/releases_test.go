//go:build libraries

package pgboss_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/pgboss"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var releases = []string{release9, release10, release11, release1227, newest}

func start(t *testing.T, release string) (*fixture, *postgres.Engine) {
	t.Helper()
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	return newFixture(db, release), open(t, db.URL(), "")
}

// stats is what pg-boss itself says of a queue. Before 11 it knows but the number of those that wait.
type stats struct{ Queued, Ready, Active, Deferred int64 }

func TestEveryReleaseCountsWhatPgBossCounts(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			f, e := start(t, release)
			f.Finish("mail", 1)
			f.Fail("mail", 2, time.Hour)
			f.Fail("mail", 1, -time.Hour)
			f.take("mail", 1, "complete") // what has failed is ready, and is fetched
			f.Run("mail", 3)
			f.Insert("mail", 4)
			f.Schedule("mail", 5, time.Hour)
			f.Schedule("mail", 1, -time.Hour)
			got := sqltest.ReadQueue(t, e, "mail")
			want := driver.Queue{Name: "mail", Known: true, Ready: 5, Running: 3, Scheduled: 7, Pool: got.Pool}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			sqltest.Near(t, "oldest", got.Oldest, time.Hour)
			sqltest.Near(t, "next due", got.NextDue, time.Hour)

			theirs := storagetest.Call[stats](t, f.node, "stats", f.with(map[string]any{"queue": "mail"}))
			if theirs.Queued != got.Ready+got.Scheduled {
				t.Errorf("pg-boss says that %d wait, leadsman %d + %d", theirs.Queued, got.Ready, got.Scheduled)
			}
			if release == newest && (theirs != stats{got.Ready + got.Scheduled, got.Ready, got.Running, got.Scheduled}) {
				t.Errorf("pg-boss says %+v, leadsman %+v", theirs, got)
			}
		})
	}
}

func TestExpiredJobsAreNotRunning(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			f, e := start(t, release)
			f.add("mail", 1, map[string]any{"expireInSeconds": 60})
			f.take("mail", 1, "hold")
			f.Run("mail", 1)
			f.db.Exec("UPDATE job SET " + f.column("started_on") + " = now() - interval '5 minutes'")
			if got := sqltest.ReadQueue(t, e, "mail").Running; got != 1 {
				t.Errorf("running = %d, want only the job that expires after 15 minutes", got)
			}
		})
	}
}

func TestAJobWhoseHeartbeatStoppedIsNotRunning(t *testing.T) {
	for _, release := range []string{release1227, newest} {
		f, e := start(t, release)
		f.add("mail", 2, map[string]any{"heartbeatSeconds": 60})
		ids := f.take("mail", 2, "hold")
		f.db.Exec("UPDATE job SET heartbeat_on = now() - interval '2 minutes' WHERE id = $1::text::uuid", ids[0])
		if got := sqltest.ReadQueue(t, e, "mail").Running; got != 1 {
			t.Errorf("%s: running = %d, want 1", release, got)
		}
	}
}

// Case 31, for pg-boss: jobs that wait for others.
func TestBlockedJobsAreNotReady(t *testing.T) {
	for _, release := range []string{release1227, newest} {
		f, e := start(t, release)
		f.Insert("mail", 5)
		f.db.Exec("UPDATE job SET blocked = true WHERE id IN (SELECT id FROM job LIMIT 3)")
		if got := sqltest.ReadQueue(t, e, "mail"); got.Ready != 2 || got.Scheduled != 0 {
			t.Errorf("%s: got %+v, want 2 ready", release, got)
		}
	}
}

func TestWorkersAndCapacityAreThoseOfLivingInstances(t *testing.T) {
	f, e := start(t, newest)
	f.create("mail", nil)
	f.create("images", nil)
	if got := sqltest.ReadQueue(t, e, "mail").Pool; got == nil || *got != (driver.Pool{}) {
		t.Errorf("without workers: %+v, want none", got)
	}
	other := newFixture(sqltest.Postgres(t, f.db.URL()), newest)
	for _, boss := range []*fixture{f, other} {
		boss.do("serve", map[string]any{"queue": "mail", "options": map[string]any{"localConcurrency": 3, "batchSize": 2}})
	}
	f.do("serve", map[string]any{"queue": "images", "options": map[string]any{}})
	eventually(t, "both instances have written down their workers", func() bool {
		got := sqltest.ReadQueue(t, e, "mail").Pool
		return got != nil && *got == driver.Pool{Workers: 2, Capacity: 12}
	})
	eventually(t, "the only one for images as well", func() bool {
		got := sqltest.ReadQueue(t, e, "images").Pool
		return got != nil && *got == driver.Pool{Workers: 1, Capacity: 1}
	})
	other.db.Exec("UPDATE instance SET stopped_on = now() WHERE id = (SELECT max(id::text)::uuid FROM instance)")
	if got := sqltest.ReadQueue(t, e, "mail").Pool; got.Workers != 1 || got.Capacity != 6 {
		t.Errorf("with one of two stopped: %+v", got)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func TestTheChannelIsNamedByTheSchema(t *testing.T) {
	for _, schema := range []string{"pgboss", "my_jobs"} {
		db := sqltest.Postgres(t, storagetest.Postgres(t))
		f := newFixtureIn(db, newest, schema)
		signals := watch(t, open(t, db.URL(), schema))
		f.Insert("Mail.out", 1)
		signals.await(t, "Mail.out")
	}
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	f, _ := start(t, newest)
	f.Insert("mail", 2)
	limited := open(t, sqltest.Granted(t, f.db), "")
	if got := sqltest.ReadQueue(t, limited, "mail"); got.Ready != 2 {
		t.Errorf("got %+v, want 2 ready", got)
	}
	signals := watch(t, limited)
	f.Insert("mail", 1)
	signals.await(t, "mail")
}

// addJobs adds jobs by SQL: more than pg-boss would in a moment.
func (f *fixture) addJobs(queue, state string, n int) {
	f.t.Helper()
	f.db.Exec(fmt.Sprintf("INSERT INTO job (name, state, %s) SELECT '%s', '%s', now() - g * interval '1 ms' FROM generate_series(1, %d) g",
		f.column("start_after"), queue, state, n))
}

// Case 55.
func TestReadsAreBoundedProbes(t *testing.T) {
	for i, release := range []string{release9, release10, release11, release1227, newest} {
		t.Run(release, func(t *testing.T) {
			f, _ := start(t, release)
			f.Run("idle", 1) // makes it
			f.Run("mail", 1)
			f.addJobs("mail", "created", 200_000)
			f.addJobs("mail", "completed", 20_000)
			f.db.Exec("VACUUM ANALYZE job")
			query := pgboss.Preset.Postgres.Layouts[[]int{0, 1, 2, 3, 5}[i]].Query
			const one = `[{"queue": "mail", "lookahead": 0}]`
			if release != newest {
				f.db.Exec(activeIndex(t)) // the newest has one that finds the active jobs
			}
			c := sqltest.Explain(f.db, query, one, 1000)
			if c.Buffers > 1500 {
				t.Errorf("looked at %d pages, want a bounded number", c.Buffers)
			}
			c = sqltest.Explain(f.db, query, sqltest.AbsentWants(1000), 100_000)
			if c.Buffers > 1000*20 {
				t.Errorf("1,000 names that nobody uses cost %d pages", c.Buffers)
			}
			if c := sqltest.Explain(f.db, query, strings.Replace(one, "mail", "idle", 1), 1000); c.Buffers > 150 {
				t.Errorf("a queue beside it cost %d pages", c.Buffers)
			}
		})
	}
}

// activeIndex is the index that README.md recommends.
func activeIndex(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readme)) {
		if line := strings.TrimSpace(line); strings.HasPrefix(line, "CREATE INDEX") {
			return line
		}
	}
	t.Fatal("README.md recommends no index")
	return ""
}
