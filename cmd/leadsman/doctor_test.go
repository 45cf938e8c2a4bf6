package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// TestDoctorScripts runs what people type to find mistakes, in testdata/doctor. "steady FILE" is that of TestClientScripts.
// With -update the golden outputs are written anew.
func TestDoctorScripts(t *testing.T) {
	t.Parallel()
	update := flag.Lookup("update")
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/doctor",
		UpdateScripts: update != nil && update.Value.String() == "true",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"steady": steady},
	})
}

// A diagnosis is what doctor says of one source.
type diagnosis struct {
	t        *testing.T
	err      error
	findings []doctorFinding
}

// diagnose has doctor examine a source that a configuration names. Nothing that it prints may hold hunter2.
func diagnose(t *testing.T, source string, args ...string) diagnosis {
	t.Helper()
	file := filepath.Join(t.TempDir(), "leadsman.yaml")
	if err := os.WriteFile(file, []byte("sources:\n  mail: "+source+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"doctor", "--config", file}, args...)
	table, _ := runRoot(t, args...)
	text, err := runRoot(t, append(args, "-o", "json")...)
	if strings.Contains(table+text, "hunter2") {
		t.Errorf("the password shows:\n%s%s", table, text)
	}
	var out struct {
		Sources []struct {
			Findings []doctorFinding `json:"findings"`
		} `json:"sources"`
	}
	if jerr := json.Unmarshal([]byte(text), &out); jerr != nil || len(out.Sources) != 1 {
		t.Fatalf("%v, %v in %s", err, jerr, text)
	}
	return diagnosis{t, err, out.Sources[0].Findings}
}

// says holds the first finding of a check against a level and words.
func (d diagnosis) says(check string, level driver.Level, parts ...string) {
	d.t.Helper()
	for _, f := range d.findings {
		if f.Check != check {
			continue
		}
		if f.Level != level {
			d.t.Errorf("got %+v, want level %s", f, level)
		}
		for _, part := range parts {
			if !strings.Contains(f.Found+"; "+f.Remedy, part) {
				d.t.Errorf("%+v does not say %q", f, part)
			}
		}
		return
	}
	d.t.Errorf("there is no finding for %q: %+v", check, d.findings)
}

// fails wants the command to fail, which it must where a finding does.
func (d diagnosis) fails(wanted bool) {
	d.t.Helper()
	if (d.err != nil) != wanted {
		d.t.Errorf("the command's error is %v, with %+v", d.err, d.findings)
	}
}

// database connects to a database for a test's own statements.
func database(t *testing.T, url string) func(statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // for cleanups too
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(ctx) }) // nothing is lost with it
	return func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := db.Exec(ctx, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
}

func TestDoctorOfAPostgresThatIsWell(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	storagetest.RiverPostgres(t, url).Insert("mail", 3)
	d := diagnose(t, "{url: '"+url+"', preset: river}", "--queue", "mail", "--queue", "mial")
	d.fails(false)
	for _, check := range []string{"reachable", "credentials", "server", "pooler", "permissions", "row-level security", "indexes", "clock"} {
		d.says(check, driver.LevelOK)
	}
	d.says("privileges", driver.LevelWarn, "superuser")
	d.says("queues", driver.LevelOK, "1: mail (3 ready, 0 running)")
	d.says("queue mail", driver.LevelOK, "3 ready")
	d.says("queue mial", driver.LevelWarn, "no trace", "did you mean mail?")
	d.says("push", driver.LevelOK, "canary")
}

// The statement that doctor prints is run as it is, and helps.
func TestDoctorNamesTheGrantAndThePolicyThatAreInTheWay(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	storagetest.RiverPostgres(t, url)
	exec := database(t, url)
	exec("CREATE ROLE patient LOGIN")
	t.Cleanup(func() { exec("DROP OWNED BY patient", "DROP ROLE patient") })
	source := "{url: '" + strings.Replace(url, "//postgres@", "//patient@", 1) + "', preset: river, schema: public}"
	d := diagnose(t, source)
	d.fails(true)
	d.says("permissions", driver.LevelFail, "river_job", "GRANT SELECT ON ")
	for _, f := range d.findings {
		if _, grants, ok := strings.Cut(f.Remedy, "as the owner run: "); ok {
			exec(grants)
		}
	}
	d = diagnose(t, source)
	d.fails(false)
	d.says("permissions", driver.LevelOK)
	d.says("privileges", driver.LevelOK, "only read")
	exec("ALTER TABLE river_job ENABLE ROW LEVEL SECURITY") // case 56
	d = diagnose(t, source)
	d.fails(true)
	d.says("row-level security", driver.LevelFail, `ALTER ROLE "patient" BYPASSRLS`)
}

func TestDoctorAdvisesTheBellAndKnowsItWhenItRings(t *testing.T) {
	t.Parallel()
	url := storagetest.Postgres(t)
	exec := database(t, url)
	source := "{url: '" + url + "', preset: delayed_job}"
	d := diagnose(t, source)
	d.fails(true)
	d.says("schema version", driver.LevelFail, "not installed", "delayed_jobs")
	exec(delayedJobs)
	d = diagnose(t, source)
	d.fails(false)
	d.says("push", driver.LevelWarn, "edge poll", "announces nothing", "leadsman trigger-sql delayed_job | psql")
	d.says("queues", driver.LevelNote, "none is known yet")
	bell, err := runRoot(t, "trigger-sql", "delayed_job")
	if err != nil {
		t.Fatal(err)
	}
	exec(bell)
	d = diagnose(t, source)
	d.says("push", driver.LevelOK, "armed bell")
}

// Case 28, 48.
func TestDoctorOfAWrongPasswordShowsNone(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t, storagetest.Password("right"))
	url := strings.Replace(cluster.SuperuserURL(), "right", "hunter2", 1)
	if !strings.Contains(url, "hunter2") {
		t.Fatalf("%s has another password", url)
	}
	d := diagnose(t, "{url: '"+url+"', preset: river}")
	d.fails(true)
	d.says("reachable", driver.LevelOK)
	d.says("credentials", driver.LevelFail, "refused the credentials")
	d = diagnose(t, "{url: 'postgres://reader:hunter2@127.0.0.1:1/app', preset: river}")
	d.fails(true)
	d.says("reachable", driver.LevelFail, "connection refused", "NetworkPolicy")
}

// Cases 33, 36, 38.
func TestDoctorOfRedis(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t)
	server.Do(t, "RPUSH", "bull:jobs:wait", "1")
	server.Do(t, "HSET", "bull:jobs:meta", "opts.maxLenEvents", "10000")
	d := diagnose(t, "{url: '"+server.URL()+"', preset: bullmq}", "--queue", "default", "--queue", "jobs")
	d.fails(false)
	d.says("push", driver.LevelOK, "tracking")
	d.says("eviction", driver.LevelOK)
	d.says("queues", driver.LevelNote, "keeps no list")
	d.says("queue jobs", driver.LevelOK, "1 ready")
	d.says("queue default", driver.LevelWarn, "no trace")
	d.says("note", driver.LevelNote, `"jobs"`) // the near name

	server.AddUser(t, "reader", "hunter2", strings.Fields("%R~bull:* -@all +ping +hello +auth +client|id +client|setname +role +time "+
		"+multi +exec +lindex +lrange +zcard +zcount +zrangebyscore +hmget")...)
	d = diagnose(t, "{url: '"+server.UserURL("reader", "hunter2")+"', preset: bullmq}", "--queue", "jobs")
	d.fails(true)
	d.says("queue jobs", driver.LevelFail, "ACL SETUSER reader +llen")
	d.says("push", driver.LevelWarn, "edge poll", "CLIENT TRACKING")
	d = diagnose(t, "{url: '"+server.UserURL("stranger", "hunter2")+"', preset: bullmq}")
	d.fails(true)
	d.says("credentials", driver.LevelFail, "the user or the password is wrong")
}

func TestDoctorComparesTheClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		skew  time.Duration
		level driver.Level
		says  string
	}{
		{0, driver.LevelOK, "agree"},
		{-time.Second, driver.LevelOK, "agree"},
		{5 * time.Second, driver.LevelNote, "5s ahead of"},
		{-10 * time.Minute, driver.LevelWarn, "10m behind"}, // case 58
	} {
		x := &sourceExam{sourceReport: &sourceReport{source: &SourceConfig{Engine: enginePostgres}}}
		started := time.Now()
		sample := storage.Sample{Started: started, Took: 2 * time.Second}
		sample.Now = started.Add(time.Second + c.skew)
		x.clock(sample)
		if f := x.findings[0]; f.Level != c.level || !strings.Contains(f.Found, c.says) {
			t.Errorf("%s: got %+v", c.skew, f)
		}
	}
}

func TestDoctorWeighsTheCostOfASample(t *testing.T) {
	t.Parallel()
	for took, level := range map[time.Duration]driver.Level{
		100 * time.Millisecond: driver.LevelOK, 101 * time.Millisecond: driver.LevelWarn,
	} {
		x := &sourceExam{sourceReport: &sourceReport{source: &SourceConfig{Sampling: SamplingConfig{MaxAge: time.Second}}}}
		x.cost(took)
		if f := x.findings[0]; f.Level != level {
			t.Errorf("%s: got %+v, want level %s", took, f, level)
		}
	}
}
