package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leadsman/leadsman/storage/driver"
)

// manyRows is where a table is too long to be read whole once a second.
const manyRows = 10_000

// A plan is a node of what EXPLAIN writes, and those below it.
type plan struct {
	Type     string `json:"Node Type"`     //nolint:tagliatelle // PostgreSQL's spelling
	Schema   string `json:"Schema"`        //nolint:tagliatelle // PostgreSQL's spelling
	Relation string `json:"Relation Name"` //nolint:tagliatelle // PostgreSQL's spelling
	Index    string `json:"Index Name"`    //nolint:tagliatelle // PostgreSQL's spelling
	Plans    []plan `json:"Plans"`         //nolint:tagliatelle // PostgreSQL's spelling
}

// A relationName is a table in its schema.
type relationName struct{ schema, name string }

// uses collects the indexes that a plan goes by and the tables that it reads whole.
func (p *plan) uses(indexes map[string]bool, whole map[relationName]bool) {
	switch {
	case p.Index != "":
		indexes[p.Index] = true
	case p.Type == "Seq Scan" && p.Relation != "":
		whole[relationName{p.Schema, p.Relation}] = true
	}
	for i := range p.Plans {
		p.Plans[i].uses(indexes, whole)
	}
}

// indexes plans the preset's query, for every queue, as a read would, and says what it goes by. Where it cannot be planned,
// a read fails for the same reason and says it.
func (x *examination) indexes(ctx context.Context) error {
	if x.query == nil {
		return nil
	}
	top, err := x.explain(ctx)
	if err != nil {
		if ctx.Err() != nil || x.conn.IsClosed() {
			return err
		}
		return nil // the read tells
	}
	indexes, whole := map[string]bool{}, map[relationName]bool{}
	top.uses(indexes, whole)
	rows, err := x.rows(ctx, whole)
	if err != nil {
		return err
	}
	var long []string
	for name, n := range rows {
		if n >= manyRows {
			long = append(long, fmt.Sprintf("%s.%s (about %d rows)", quote(name.schema), quote(name.name), n))
		}
	}
	slices.Sort(long)
	by := strings.Join(slices.Sorted(maps.Keys(indexes)), ", ")
	switch {
	case len(long) > 0:
		x.add("indexes", driver.LevelWarn, "each sample reads the whole of "+strings.Join(long, ", "),
			"bring back the job library's indexes (its migrations make them), or remove jobs that are done, or raise sampling.maxAge")
	case by == "":
		x.add("indexes", driver.LevelOK, "none, and none is needed: the tables are short", "")
	default:
		x.add("indexes", driver.LevelOK, "a sample goes by "+by, "")
	}
	return nil
}

// explain plans the query without executing it.
func (x *examination) explain(ctx context.Context) (*plan, error) {
	e := x.engine
	every := driver.Request{Wants: []driver.Want{{}}, Limit: 1}
	q := query{text: "EXPLAIN (VERBOSE, FORMAT JSON) " + x.query.text}
	var top []struct {
		Plan plan `json:"Plan"` //nolint:tagliatelle // PostgreSQL's spelling
	}
	_, err := e.roundTrip(ctx, x.conn, request{
		settings: e.settings, query: q, args: x.query.args(every, e.cfg.RunningMaxAge.Seconds()), unnamed: true,
	}, func(_ head, result *pgconn.ResultReader) error {
		var text []byte
		for result.NextRow() {
			text = append(text, result.Values()[0]...)
		}
		if _, err := result.Close(); err != nil {
			return err
		}
		return json.Unmarshal(text, &top)
	})
	if err != nil {
		return nil, err
	}
	if len(top) != 1 {
		return nil, fmt.Errorf("EXPLAIN returned %d plans", len(top))
	}
	return &top[0].Plan, nil
}

// rows estimates how many rows tables have, as ANALYZE left it; none that was never analyzed.
func (x *examination) rows(ctx context.Context, tables map[relationName]bool) (map[relationName]int64, error) {
	if len(tables) == 0 {
		return nil, nil //nolint:nilnil // of none, none
	}
	var names []string
	for table := range tables {
		names = append(names, "("+literal(table.schema)+", "+literal(table.name)+")")
	}
	rows, err := x.ask(ctx, `SELECT n.nspname, c.relname, c.reltuples::bigint
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE (n.nspname, c.relname) IN (`+strings.Join(names, ", ")+`)`)
	if err != nil {
		return nil, err
	}
	out := make(map[relationName]int64, len(rows))
	for _, row := range rows {
		t := texts(row)
		if n, err := strconv.ParseInt(t[2], 10, 64); err == nil && n >= 0 {
			out[relationName{t[0], t[1]}] = n
		}
	}
	return out, nil
}
