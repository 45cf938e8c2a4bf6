package pgmq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/pgmq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *pgmq.Preset.Postgres

func TestQueryIsTheReviewedText(t *testing.T) {
	sqltest.Golden(t, "testdata/postgres.golden.sql", sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Queues"`).Query())
}

func TestPgmqKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Everything: true, Lookahead: true, FoldsNames: true,
	}))
}

func TestTheDocumentedGrantSuffices(t *testing.T) { sqltest.Grants(t, preset, install) }

func start(t *testing.T) (fixture, *postgres.Engine) {
	t.Helper()
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	return install(db), sqltest.OpenPostgres(t, preset, db.URL(), "")
}

// oddNames would be taken for something else than a name in a statement that is put together, or in XML or JSON.
var oddNames = []string{
	"mail", " mail", "mail ", "team/mail", "team-mail", "two words", "tab\tnewline\n", "%", "%s", "%1$I", "%I", "_", "$1", "$statement$",
	":queue", "@wants", "{schema}", `back\slash`, `\`, `it's`, `''`, `"quoted"`, `""`, `{"queue":null}`, `x'; DROP TABLE meta;--`,
	`x"; DROP TABLE meta;--`, `q" CROSS JOIN meta --`, "<j>7</j>", "</j>", "&amp;", "]]>", "/* ", "-- ", "почта", "na\u00efve", "nai\u0308ve",
	"日本語🚢", "Upper", strings.Repeat("long", 11),
}

func TestQueuesOfAnyNameAreReadInASchemaOfAnyName(t *testing.T) {
	const schema = `My "Queues" x'; DROP %I $statement$`
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := installIn(db, schema)
	var want []driver.Queue
	for i, name := range oddNames {
		f.Insert(name, i+1)
		want = append(want, driver.Queue{Name: name, Known: true, Ready: int64(i + 1)})
	}
	e := sqltest.OpenPostgres(t, preset, db.URL(), schema)
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	ages := cmpopts.IgnoreFields(driver.Queue{}, "Oldest")
	if diff := cmp.Diff(want, sqltest.Read(t, e, 0, driver.Want{}), byName, ages); diff != "" {
		t.Errorf("every queue: -want +got:\n%s", diff)
	}
	for _, want := range want {
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, e, want.Name), ages); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	// Names from outside reach no statement: what is not in meta is not looked for.
	for _, name := range []string{"MAIL", "meta", `x" CROSS JOIN pg_sleep(9) --`, "upper"} {
		if got := sqltest.ReadQueue(t, e, name); got.Known {
			t.Errorf("%q: got %+v, want it unknown", name, got)
		}
	}
}

func TestMessagesInFlightAreRunningUntilTheyAreVisibleAgain(t *testing.T) {
	f, e := start(t)
	f.Run("mail", 3)
	f.Schedule("mail", 2, time.Hour)
	f.send("mail", 1, map[string]any{"vt": from(-2 * time.Hour), "read_ct": 4, "enqueued_at": from(-5 * time.Hour)})
	got := sqltest.Read(t, e, 0, driver.Want{Queue: "mail"}, driver.Want{Queue: "mail", Lookahead: 2 * time.Hour})
	sqltest.Near(t, "oldest", got[0].Oldest, 2*time.Hour)
	sqltest.Near(t, "next due", got[0].NextDue, time.Hour)
	want := []driver.Queue{
		{Name: "mail", Known: true, Ready: 1, Running: 3, Scheduled: 2},
		{Name: "mail", Known: true, Ready: 3, Running: 3, Lookahead: 2 * time.Hour},
	}
	byLookahead := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Lookahead < b.Lookahead })
	if diff := cmp.Diff(want, got, byLookahead, cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Case 56: Supabase turns row-level security on.
func TestAPolicyThatHidesMessagesIsAnError(t *testing.T) {
	f, _ := start(t)
	f.Insert("mail", 2)
	limited := sqltest.OpenPostgres(t, preset, sqltest.Granted(t, f.DB), "")
	if got := sqltest.ReadQueue(t, limited, "mail").Ready; got != 2 {
		t.Errorf("ready = %d, want 2", got)
	}
	f.Exec("ALTER TABLE q_mail ENABLE ROW LEVEL SECURITY")
	sqltest.Fails(t, limited, driver.Denied, "row-level security", "q_mail")
}

func TestAQueueThatMayNotBeReadIsAnErrorThatNamesItsTable(t *testing.T) {
	f, _ := start(t)
	f.Insert("mail", 2)
	limited := sqltest.OpenPostgres(t, preset, sqltest.Granted(t, f.DB), "")
	f.Insert("secret", 1)
	sqltest.Fails(t, limited, driver.Denied, "q_secret")
	if got := sqltest.ReadQueue(t, limited, "mail").Ready; got != 2 {
		t.Errorf("the other queue: ready = %d, want 2", got)
	}
}

func TestAQueueWithoutItsTableIsAnError(t *testing.T) {
	f, e := start(t)
	f.Insert("mail", 2)
	f.Exec("DROP TABLE q_mail")
	sqltest.Fails(t, e, driver.Schema, "q_mail", "does not exist")
}

func TestNotificationsAreHeardForNamesOfEitherCase(t *testing.T) {
	f, e := start(t)
	f.Exec("SELECT make('mail'), make('MailOut'), make('" + strings.Repeat("long", 14) + "')") // the last has no channel
	signals, ended := make(signalChan, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- e.Watch(ctx, signals) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	signals.await(t) // it listens
	f.Insert("mail", 1)
	signals.await(t)
	f.Insert("MailOut", 1)
	signals.await(t)
	f.Exec("SELECT pg_notify('pgmq.q_mailout.INSERT', NULL)") // as versions before 1.13 do
	signals.await(t)
}

// signalChan is a driver.Sink that passes signals on.
type signalChan chan string

func (c signalChan) Signal(queue string)      { c <- queue }
func (c signalChan) Push(driver.Mode, string) {}

func (c signalChan) await(t *testing.T) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("no signal")
	}
}

// Case 55. What the statements within do shows in the statistics of the table's indexes.
func TestReadsAreBoundedProbes(t *testing.T) {
	f, e := start(t)
	f.Insert("mail", 300_000)
	f.Schedule("mail", 1000, time.Hour)
	f.Run("mail", 100)
	f.Exec("VACUUM ANALYZE q_mail")
	// Statistics are sent when the reading connection has been idle for a while, or ends.
	if got := sqltest.Read(t, e, 1000, driver.Want{Queue: "mail"})[0]; got.Ready != 1000 || !got.Saturated || got.Running != 100 {
		t.Errorf("got %+v", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var entries int64
	for deadline := time.Now().Add(30 * time.Second); entries == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no statistics within 30 s")
		}
		f.Row("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'q_mail'", &entries)
	}
	if entries > 10_000 {
		t.Errorf("the read went through %d entries of indexes, want a bounded number", entries)
	}
}
