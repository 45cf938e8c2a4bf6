package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// ParseURL returns the path that a sqlite: URL names:
//
//	sqlite:jobs.db             jobs.db, in the working directory
//	sqlite://data/jobs.db      data/jobs.db, in the working directory
//	sqlite:/var/lib/jobs.db    /var/lib/jobs.db
//	sqlite:///var/lib/jobs.db  /var/lib/jobs.db
//
// %xx stands for one byte. What cannot be a file that another process writes (":memory:", a host, a user, a
// query) is an error that says what to write instead.
func ParseURL(raw string) (string, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	if !found || !strings.EqualFold(scheme, "sqlite") {
		return "", errors.New("not a sqlite URL: write sqlite:jobs.db or sqlite:///abs/jobs.db")
	}
	fault := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("sqlite URL %q: %s", raw, fmt.Sprintf(format, args...))
	}
	authority := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, _, _ = strings.Cut(after, "/")
		rest = after
	}
	switch {
	case strings.Contains(rest, ":memory:"):
		return fault("a database in memory belongs to one process and cannot be watched from outside; name a file")
	case strings.ContainsRune(rest, '?'):
		return fault("options are not taken: leadsman opens the file read-only in its own way; remove everything from the ?")
	case strings.ContainsRune(rest, '#'):
		return fault("write # in a file name as %%23")
	case authority == "localhost" || strings.ContainsAny(authority, "@:"):
		return fault("a SQLite file has no host, port or user; write sqlite:///abs/jobs.db")
	}
	path, err := url.PathUnescape(rest)
	switch {
	case err != nil:
		return fault("%v; write %% in a file name as %%25", err)
	case strings.ContainsRune(path, 0):
		return fault("a file name cannot hold a zero byte")
	case path == "":
		return fault("no file named; write sqlite:jobs.db")
	case strings.HasSuffix(path, "/") || filepath.Base(path) == "." || filepath.Base(path) == "..":
		return fault("this is a directory; name the file in it")
	}
	return filepath.Clean(path), nil
}

// WriterDSN is how a program of ours opens a file that it writes jobs to: WAL, so that readers and the writer
// do not block each other, and a busy timeout, without which a second writer fails at once. The file is created
// if it is missing. Use it with sql.Open("sqlite", …) and one open connection.
func WriterDSN(path string) string {
	return dsn(path, "mode=rwc",
		"_pragma=journal_mode(WAL)",
		"_pragma=busy_timeout(5000)",
		"_pragma=synchronous(NORMAL)",
		"_txlock=immediate")
}

// readerDSN never creates or changes the file. A double-quoted name that is no column is an error (_dqs=0)
// rather than a text that happens to compare with nothing.
func readerDSN(path string, busy time.Duration) string {
	return dsn(path, "mode=ro",
		fmt.Sprintf("_busy_timeout=%d", busy.Milliseconds()),
		"_query_only=1",
		"_dqs=0",
		"_error_rc=1")
}

func dsn(path string, options ...string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(options, "&")}
	if !filepath.IsAbs(path) {
		u.Path, u.Opaque = "", u.EscapedPath()
	}
	return u.String()
}
