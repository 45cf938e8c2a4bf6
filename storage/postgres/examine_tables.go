package postgres

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

// A relation is a table or view that the preset reads, as this role finds it.
type relation struct {
	schema, name string
	usable       bool // USAGE on its schema
	readable     bool // SELECT on it, or on some of its columns
	writable     bool // anything that changes it
	filtered     bool // by row-level security, for this role
}

func (r relation) String() string { return quote(r.schema) + "." + quote(r.name) }

// inSchema finds what a preset's text names in the library's schema: tables, views, types and functions.
var inSchema = regexp.MustCompile(`\{schema\}"?([A-Za-z_][A-Za-z0-9_]*)`)

// named looks up the relations that the preset's queries name. Those of a query of the user's own are not known: whether
// it can be read is for a read to say.
func (x *examination) named(ctx context.Context) ([]relation, error) {
	names := x.names()
	if len(names) == 0 {
		return nil, nil
	}
	// current_schemas lists what the search path comes to.
	schemas := "pg_catalog.current_schemas(true)"
	if schema := x.engine.cfg.Schema; schema != "" {
		schemas = "ARRAY[" + literal(schema) + "]::name[]"
	}
	rows, err := x.ask(ctx, `SELECT DISTINCT ON (c.relname) n.nspname, c.relname,
			has_schema_privilege(n.oid, 'USAGE'), has_any_column_privilege(c.oid, 'SELECT'),
			has_any_column_privilege(c.oid, 'INSERT, UPDATE') OR has_table_privilege(c.oid, 'DELETE, TRUNCATE'),
			row_security_active(c.oid)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = ANY(`+schemas+`)
			AND c.relname IN (`+strings.Join(names, ", ")+`)
		ORDER BY c.relname, array_position(`+schemas+`, n.nspname)`)
	if err != nil {
		return nil, err
	}
	found := make([]relation, len(rows))
	for i, row := range rows {
		t := texts(row)
		found[i] = relation{
			schema: t[0], name: t[1],
			usable: t[2] == "t", readable: t[3] == "t", writable: t[4] == "t", filtered: t[5] == "t",
		}
	}
	return found, nil
}

// names are those of the layout in use, or of all where that is not known, as literals.
func (x *examination) names() []string {
	sql := &x.engine.cfg.SQL
	texts := []string{sql.Version, sql.Activity}
	if sql.Listen != nil {
		texts = append(texts, sql.Listen.Query)
	}
	for i, text := range layout.Queries(*sql) {
		if x.query == nil || x.query == &x.engine.queries[i] {
			texts = append(texts, text)
		}
	}
	names := map[string]bool{}
	for _, text := range texts {
		for _, m := range inSchema.FindAllStringSubmatch(text, -1) {
			names[literal(m[1])] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// permissions says which grants are missing, all at once.
func (x *examination) permissions() {
	var closed, unreadable []string
	for _, r := range x.relations {
		if schema := quote(r.schema); !r.usable && !slices.Contains(closed, schema) {
			closed = append(closed, schema)
		}
		if !r.readable {
			unreadable = append(unreadable, r.String())
		}
	}
	var missing, grants []string
	if len(closed) > 0 {
		missing = append(missing, "the schema "+strings.Join(closed, ", ")+" may not be used")
		grants = append(grants, "GRANT USAGE ON SCHEMA "+strings.Join(closed, ", ")+" TO "+quote(x.user)+";")
	}
	if len(unreadable) > 0 {
		missing = append(missing, strings.Join(unreadable, ", ")+" may not be read")
		grants = append(grants, "GRANT SELECT ON "+strings.Join(unreadable, ", ")+" TO "+quote(x.user)+";")
	}
	switch {
	case len(missing) > 0:
		x.add("permissions", driver.LevelFail, strings.Join(missing, ", and "), "as the owner run: "+strings.Join(grants, " "))
	case len(x.relations) > 0:
		x.add("permissions", driver.LevelOK, "the preset's tables may be read: "+strings.Join(x.list(), ", "), "")
	}
}

func (x *examination) list() []string {
	names := make([]string, len(x.relations))
	for i, r := range x.relations {
		names[i] = r.String()
	}
	return names
}

// privileges says what the role could do beyond reading, and how many connections it may make.
func (x *examination) privileges(r role) {
	var writable []string
	for _, relation := range x.relations {
		if relation.writable {
			writable = append(writable, relation.String())
		}
	}
	remedy := "make a role that only reads: CREATE ROLE leadsman LOGIN PASSWORD '…';"
	if len(x.relations) > 0 {
		remedy += " GRANT USAGE ON SCHEMA " + quote(x.relations[0].schema) + " TO leadsman; GRANT SELECT ON " +
			strings.Join(x.list(), ", ") + " TO leadsman;"
	}
	switch {
	case r.super:
		x.add("privileges", driver.LevelWarn, quote(r.name)+" is a superuser, and reading needs no more than SELECT", remedy)
	case len(writable) > 0:
		x.add("privileges", driver.LevelNote, quote(r.name)+" may also write to "+strings.Join(writable, ", "), remedy)
	case len(x.relations) > 0:
		x.add("privileges", driver.LevelOK, quote(r.name)+" can only read", "")
	}
	const beside = 2 // one that listens, and one while a canary is sent
	limit, err := strconv.Atoi(r.connections)
	if need := x.engine.cfg.MaxConns + beside; err == nil && limit >= 0 && limit < need {
		x.add("connection limit", driver.LevelWarn,
			fmt.Sprintf("the role may make %d connections, and one replica of the server makes up to %d", limit, need),
			fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT -1; or lower the source's maxConns", quote(r.name)))
	}
}

// policies says which tables would hide rows from the role.
func (x *examination) policies(r role) {
	var filtered []string
	for _, relation := range x.relations {
		if relation.filtered {
			filtered = append(filtered, relation.String())
		}
	}
	switch {
	case len(filtered) > 0:
		x.add("row-level security", driver.LevelFail,
			"policies on "+strings.Join(filtered, ", ")+" would hide rows from "+quote(r.name)+" and make counts too low, "+
				"so nothing is read",
			"ALTER ROLE "+quote(r.name)+" BYPASSRLS; or let the tables' owner read")
	case len(x.relations) > 0:
		x.add("row-level security", driver.LevelOK, "hides nothing from "+quote(r.name), "")
	}
}
