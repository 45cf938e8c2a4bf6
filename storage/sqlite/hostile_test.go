package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
)

// oddFile draws names of files that are other things in a URI, in a DSN, or in SQL.
func oddFile() *rapid.Generator[string] {
	parts := []string{
		"?mode=rwc", "?", "&", "=", "#", "%", "%00", "%3f", "%2e", ":memory:", "file:", "?_pragma=journal_mode(WAL)", "?immutable=1", "&vfs=memdb",
		"'", `"`, ";", "--", `\`, "\n", "..", " ", "+", "日", "{schema}", "$1", "@wants", "%s", "a", "B", "sqlite://",
	}
	return rapid.Custom(func(t *rapid.T) string {
		name := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(parts), rapid.StringN(1, 3, -1)), 1, 8).Draw(t, "parts"), "")
		name = strings.NewReplacer("/", "", "\x00", "").Replace(name)
		if name == "" || name == "." || name == ".." || len(name) > 200 {
			return "x"
		}
		return name
	})
}

// Whatever a file is called, it is that one which is read, as it is, and none is made beside it.
func TestFileNamesAreNeverOptions(t *testing.T) {
	folder := t.TempDir()
	origin := filepath.Join(folder, "origin.db")
	newRollback(t, origin, "DELETE").insert(3)
	whole, err := os.ReadFile(origin)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	rapid.Check(t, func(rt *rapid.T) {
		made++
		own := filepath.Join(folder, strconv.Itoa(made))
		if err := os.Mkdir(own, 0o700); err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(own, oddFile().Draw(rt, "name"))
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			rt.Skip() // the file system does not take such a name
		}
		engine, err := sqlite.Open(sqlite.Config{Path: path, SQL: plain, Timeout: patience})
		if err != nil {
			rt.Fatalf("%q: %v", path, err)
		}
		reading, err := engine.Read(context.Background(), driver.Request{Wants: []driver.Want{{Queue: "jobs"}}})
		if cerr := engine.Close(); err != nil || cerr != nil || reading.Queues[0].Ready != 3 {
			rt.Errorf("%q: %+v, %v, %v", path, reading, err, cerr)
		}
		files, err := os.ReadDir(own)
		if now, rerr := os.ReadFile(path); err != nil || rerr != nil || len(files) != 1 || !bytes.Equal(now, whole) {
			rt.Errorf("%q: %d files, %v, %v, or another content", path, len(files), err, rerr)
		}
	})
}

// Queues are read by the very name that they have.
func TestQueueNamesAreNeverSQL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s := newWAL(t, path)
	s.exec("CREATE TABLE canary (n int)")
	s.exec("CREATE TABLE work (queue text)")
	engine := openEngine(t, path, func(cfg *sqlite.Config) {
		cfg.SQL = driver.SQL{Query: `SELECT w.value ->> 'queue' AS queue, w.value ->> 'lookahead' AS lookahead, count(work.queue) AS ready
			FROM json_each(@wants) AS w LEFT JOIN work ON work.queue = w.value ->> 'queue'
			WHERE @limit >= 0 AND @running_max_age >= 0 GROUP BY 1, 2`}
	})
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(oddFile(), 1, 5, rapid.ID[string]).Draw(rt, "queues")
		s.exec("DELETE FROM work")
		want := map[string]int64{}
		var req driver.Request
		for i, name := range names {
			want[name] = int64(i)
			req.Wants = append(req.Wants, driver.Want{Queue: name})
			for range i {
				if _, err := s.db.Exec("INSERT INTO work VALUES (?)", name); err != nil {
					rt.Fatal(err)
				}
			}
		}
		reading, err := engine.Read(context.Background(), req)
		if err != nil || len(reading.Queues) != len(names) {
			rt.Fatalf("%q: %+v, %v", names, reading, err)
		}
		for _, q := range reading.Queues {
			if q.Ready != want[q.Name] {
				rt.Errorf("queue %q: %d ready, want %d", q.Name, q.Ready, want[q.Name])
			}
		}
		var tables int
		if err := s.db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 3 {
			rt.Fatal(fmt.Sprint(tables, " tables ", err))
		}
	})
}
