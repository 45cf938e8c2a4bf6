package redistest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// OddNames are names of queues that would be something else to SCAN, to the protocol, to a cluster, to a template or to a
// shell, if they were not taken as they are.
func OddNames() []string {
	return []string{
		"mail", "Mail", "mail*", "m?il", "[m]ail", "[^m]ail", `mail\`, `m\*`, "{mail}", "{", "}", "{}mail", "a}{b", "{queue}", "{prefix}",
		"mail\r\nFLUSHALL\r\n", "\n", "$4\r\nmail\r\n", "*1", "-ERR", "+OK", ":1", " mail ", "mail box", `"mail"`, `'; FLUSHALL --`, "%s", "%00",
		"{{.}}", "$(id)", "../mail", "日本", "\u202eliam", "\x00", "mail\x00", "\xff\xfe", strings.Repeat("x", 1000),
	}
}

// Names fills queues of odd names and reads each, alone and among all: by that very name, and not one that is like it.
// Reading leaves what there is as it was.
func Names[F storagetest.Fixture](
	t *testing.T, preset *driver.Redis, options driver.RedisOptions, newFixture func(testing.TB, *storagetest.RedisServer) F,
) {
	t.Helper()
	server := storagetest.StartRedis(t)
	fixture, engine := newFixture(t, server), Open(t, preset, options, server.URL())
	want := map[string]int64{}
	var wants []driver.Want
	for i, name := range OddNames() {
		fixture.Insert(name, i+1)
		want[name] = int64(i + 1)
		wants = append(wants, driver.Want{Queue: name}, driver.Want{Queue: name + "?"}, driver.Want{Queue: "nobody" + name})
	}
	before := Changes(t, server)
	for _, activity := range []bool{true, false} {
		reading, err := engine.Read(t.Context(), driver.Request{Wants: wants, Activity: activity})
		if err != nil || len(reading.Failed) > 0 {
			t.Fatalf("%v, failed: %v", err, reading.Failed)
		}
		for _, q := range reading.Queues {
			if q.Ready != want[q.Name] {
				t.Errorf("queue %.40q: %d ready, want %d", q.Name, q.Ready, want[q.Name])
			}
		}
	}
	if preset.List != nil {
		got := map[string]int64{}
		for _, q := range Read(t, engine, driver.Want{}).Queues {
			got[q.Name] = q.Ready
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("every queue (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(before, Changes(t, server)); diff != "" {
		t.Errorf("what there is has changed by reading (-before +after):\n%s", diff)
	}
}

// Changes is how often what a server holds has been changed, and how many keys there are.
func Changes(tb testing.TB, server *storagetest.RedisServer) string {
	tb.Helper()
	info, err := server.Do(tb, "INFO").ToString()
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(info) {
		if strings.HasPrefix(line, "rdb_changes_since_last_save:") || strings.HasPrefix(line, "db") {
			line, _, _ = strings.Cut(line, ",") // without what passes by itself
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all, "\n")
}
