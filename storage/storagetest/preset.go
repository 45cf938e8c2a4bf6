package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
)

// Golden holds a text against the file that holds its reviewed form, or writes the file when update is set.
func Golden(tb testing.TB, path, got string, update bool) {
	tb.Helper()
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("%s differs (go test -update rewrites it):\n%s", path, diff)
	}
}

// Granted makes the role leadsman with what the lines that begin with GRANT in a preset's README give it, and no more, and
// returns url for that role. The role belongs to the whole server and is dropped when the test ends.
func Granted(tb testing.TB, url, readme string) string {
	tb.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		tb.Fatal(err)
	}
	grants := []string{"CREATE ROLE leadsman LOGIN CONNECTION LIMIT 5"}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "GRANT ") {
			grants = append(grants, line)
		}
	}
	if len(grants) == 1 {
		tb.Fatalf("%s documents no GRANT", readme)
	}
	statements(tb, url, grants...)
	tb.Cleanup(func() { statements(tb, url, "DROP OWNED BY leadsman", "DROP ROLE leadsman") })
	return asRole(tb, url, "leadsman")
}

func asRole(tb testing.TB, dsn, role string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// statements runs statements on a connection of their own, also when the test has ended.
func statements(tb testing.TB, url string, list ...string) {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range list {
		if _, err := conn.Exec(ctx, statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// A Cost is what a query's plan did, in work that does not depend on the machine.
type Cost struct {
	Pages int      // looked at
	Scans []string // "Index Scan job_index" of each table that was looked at, if its name begins with the prefix asked for
}

// Explain runs a preset's query once, with the settings that the engine reads by, and returns what it cost. Scans are
// those of relations whose name begins with prefix.
func Explain(tb testing.TB, url, query, wants string, limit int, prefix string) Cost {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(ctx)
	const settings = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0"
	if _, err := conn.Exec(ctx, settings); err != nil {
		tb.Fatal(err)
	}
	args := []any{pgx.QueryExecModeExec, wants} // simple: the parameters' types come from the query's own casts
	for i, value := range []any{limit, 86400.0} {
		if strings.Contains(query, fmt.Sprintf("$%d", i+2)) {
			args = append(args, value)
		}
	}
	var text []byte
	if err := conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+query, args...).Scan(&text); err != nil {
		tb.Fatal(err)
	}
	var plans []struct {
		Plan map[string]any `json:"Plan"` //nolint:tagliatelle // PostgreSQL's word
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		tb.Fatal(err)
	}
	root := plans[0].Plan
	c := Cost{Pages: int(root["Shared Hit Blocks"].(float64) + root["Shared Read Blocks"].(float64))}
	c.walk(root, prefix)
	return c
}

func (c *Cost) walk(node map[string]any, prefix string) {
	if relation, _ := node["Relation Name"].(string); strings.HasPrefix(relation, prefix) && relation != "" && node["Actual Loops"] != 0.0 {
		c.Scans = append(c.Scans, strings.TrimSuffix(fmt.Sprint(node["Node Type"], " ", node["Index Name"]), " <nil>"))
	}
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		c.walk(child.(map[string]any), prefix)
	}
}

// ErrorSays fails the test unless err is a *driver.Error of the kind whose message holds all parts.
func ErrorSays(tb testing.TB, err error, kind driver.Kind, parts ...string) {
	tb.Helper()
	var known *driver.Error
	if !errors.As(err, &known) || known.Kind != kind {
		tb.Errorf("got %v, want an error of kind %s", err, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(known.Message, part) {
			tb.Errorf("got %q, want it to say %q", known.Message, part)
		}
	}
}
