package sqltest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Cost is what a query's plan did, in work that does not depend on the machine.
type Cost struct {
	// Buffers counts the pages looked at.
	Buffers int
	// Scans names the scans of tables and what they used: "Index Scan jobs_queue_index".
	Scans []string
	// Loops counts how often each of them was begun.
	Loops map[string]int
}

// Explain runs a PostgreSQL preset's query as the engine does, by a generic plan that knows none of the parameters' values
// and under the engine's planner settings, and returns what it cost. wants is the parameter's JSON; the tables are those
// whose scans are of interest.
func Explain(db *DB, query, wants string, limit int, tables ...string) Cost {
	db.tb.Helper()
	values := pgx.NamedArgs{"wants": quote(wants), "limit": strconv.Itoa(limit), "running_max_age": "86400"}
	text, args, err := values.RewriteQuery(db.tb.Context(), nil, strings.ReplaceAll(query, "{schema}", ""), nil)
	if err != nil {
		db.tb.Fatal(err)
	}
	literals := make([]string, len(args))
	for i, arg := range args {
		literals[i] = fmt.Sprint(arg)
	}
	db.Exec("SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0;" +
		"SET plan_cache_mode = force_generic_plan")
	defer db.Exec("RESET enable_seqscan; RESET enable_bitmapscan; RESET jit; RESET max_parallel_workers_per_gather;" +
		"RESET plan_cache_mode; DEALLOCATE preset")
	db.Exec("PREPARE preset AS " + text)
	execute := "EXECUTE preset"
	if len(literals) > 0 {
		execute += "(" + strings.Join(literals, ", ") + ")"
	}
	var plan []byte
	row := db.db.QueryRowContext(db.tb.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+execute)
	if err := row.Scan(&plan); err != nil {
		db.tb.Fatalf("EXPLAIN: %v", err)
	}
	return read(db, plan, tables)
}

// quote makes a literal of a text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// AbsentWants is the JSON of n names that nobody uses.
func AbsentWants(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`{"queue": "absent-%d", "lookahead": 0}`, i)
	}
	return "[" + strings.Join(names, ",") + "]"
}

func read(db *DB, plan []byte, tables []string) Cost {
	db.tb.Helper()
	var plans []map[string]any
	if err := json.Unmarshal(plan, &plans); err != nil {
		db.tb.Fatal(err)
	}
	root := plans[0]["Plan"].(map[string]any)
	c := Cost{
		Buffers: int(root["Shared Hit Blocks"].(float64) + root["Shared Read Blocks"].(float64)),
		Loops:   map[string]int{},
	}
	c.walk(root, tables)
	return c
}

func (c *Cost) walk(node map[string]any, tables []string) {
	loops, _ := node["Actual Loops"].(float64)
	for _, table := range tables {
		if node["Relation Name"] != table || loops == 0 {
			continue
		}
		scan := fmt.Sprint(node["Node Type"])
		if index, ok := node["Index Name"]; ok {
			scan += fmt.Sprint(" ", index)
		}
		c.Scans = append(c.Scans, scan)
		c.Loops[scan] += int(loops)
	}
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		c.walk(child.(map[string]any), tables)
	}
}

// QueryPlan returns the steps of a SQLite preset's plan.
func QueryPlan(db *DB, query string) []string {
	db.tb.Helper()
	rows, err := db.db.QueryContext(db.tb.Context(), "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "{schema}", ""),
		sql.Named("wants", "[]"), sql.Named("limit", 10), sql.Named("running_max_age", 1.0))
	if err != nil {
		db.tb.Fatal(err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			db.tb.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		db.tb.Fatal(err)
	}
	return steps
}
