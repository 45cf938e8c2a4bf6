package sqlite_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
)

func TestParseURLNamesTheFile(t *testing.T) {
	for url, want := range map[string]string{
		"sqlite:jobs.db":                  "jobs.db",
		"sqlite:./jobs.db":                "jobs.db",
		"sqlite:data/jobs.db":             "data/jobs.db",
		"sqlite://data/jobs.db":           "data/jobs.db",
		"sqlite://jobs.db":                "jobs.db",
		"sqlite:///var/lib/jobs.db":       "/var/lib/jobs.db",
		"sqlite:////var/lib/jobs.db":      "/var/lib/jobs.db",
		"sqlite:/var/lib/jobs.db":         "/var/lib/jobs.db",
		"SQLite:///a%20b/100%25%3F%23.db": "/a b/100%?#.db",
		"sqlite:../jobs.db":               "../jobs.db",
	} {
		if got, err := sqlite.ParseURL(url); got != want || err != nil {
			t.Errorf("ParseURL(%q) = %q, %v; want %q", url, got, err, want)
		}
	}
}

func TestParseURLSaysWhatToWriteInstead(t *testing.T) {
	for url, word := range map[string]string{
		"":                              "sqlite:jobs.db",
		"jobs.db":                       "sqlite:jobs.db",
		"postgres://h/db":               "sqlite:jobs.db",
		"sqlite:":                       "no file",
		"sqlite://":                     "no file",
		"sqlite:/":                      "directory",
		"sqlite:data/":                  "directory",
		"sqlite:..":                     "directory",
		"sqlite::memory:":               "memory",
		"sqlite:file::memory:":          "memory",
		"sqlite:jobs.db?mode=rwc":       "remove everything from the ?",
		"sqlite:jobs.db#x":              "%23",
		"sqlite://localhost/jobs.db":    "sqlite:///abs",
		"sqlite://user:pw@host/jobs.db": "sqlite:///abs",
		"sqlite://host:5432/jobs.db":    "sqlite:///abs",
		"sqlite:100%.db":                "%25",
		"sqlite:a%00b":                  "zero byte",
	} {
		if got, err := sqlite.ParseURL(url); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ParseURL(%q) = %q, %v; want an error that says %q", url, got, err, word)
		}
	}
}

func TestOpenReportsAllFaultsAtOnce(t *testing.T) {
	_, err := sqlite.Open(sqlite.Config{
		Schema: "jobs", SQL: driver.SQL{}, Timeout: time.Second, BusyTimeout: 2 * time.Second,
	})
	if err == nil {
		t.Fatal("Open took an empty path, an empty query and a schema")
	}
	for _, word := range []string{"no file", "query is empty", `schema "jobs"`, "busyTimeout 2s"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func TestReadFindsFilesOfAnyName(t *testing.T) {
	root := t.TempDir() // one for all: a subtest's own would be named like the file
	for i, name := range []string{"a b.db", "100%.db", "what?.db", "#1.db", "ümlaut.db", "a&mode=rwc.db", "%41.db"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strconv.Itoa(i))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			engine := openEngine(t, path)
			// A writer under a plain name, renamed: what is checked is the reader's escaping alone.
			writer := newRollback(t, filepath.Join(dir, "plain.db"), "DELETE")
			writer.insert(2)
			writer.close()
			rename(t, writer.path, path)
			if got := ready(t, engine); got != 2 {
				t.Errorf("ready = %d, want 2", got)
			}
		})
	}
}
