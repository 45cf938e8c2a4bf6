package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
)

// A bellState is what a session has found of the preset's bell.
type bellState struct {
	keys    bellKeys
	missing string // why there is no bell to listen to; "" where there is
	fault   bool   // something of it is there, and wrong
}

func (s bellState) installed() bool { return s.missing == "" }

// findBell looks whether the bell is installed on all tables of the preset, and enabled. Reading the catalogs needs no
// privilege.
func (w *watcher) findBell(ctx context.Context, conn *pgx.Conn) (bellState, error) {
	b := w.engine.cfg.SQL.Bell
	if b == nil {
		return bellState{missing: "there is no bell for the preset"}, nil
	}
	// A row for each trigger that there should be. One that is off on a single partition counts as off.
	rows, err := w.command(ctx, conn.PgConn(), `SELECT n.on_table, n.name,
			CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger c WHERE c.tgparentid = t.oid AND c.tgenabled NOT IN ('O', 'A'))
				THEN 'D' ELSE t.tgenabled END,
			pg_catalog.obj_description(t.tgfoid, 'pg_proc')
		FROM (`+neededTriggers(b, w.engine.cfg.Schema)+`) AS n(on_table, name)
		LEFT JOIN pg_catalog.pg_trigger t
			ON t.tgrelid = pg_catalog.to_regclass(n.on_table) AND t.tgname = n.name AND NOT t.tgisinternal`)
	if err != nil {
		return bellState{}, err
	}
	return judgeBell(b.Preset, rows), nil
}

// judgeBell makes one state of those of all triggers: the first that is wrong decides.
func judgeBell(preset string, rows [][][]byte) bellState {
	var state bellState
	missing := 0
	for _, row := range rows {
		if row[2] == nil {
			missing++
		}
		if !state.fault {
			state = judgeTrigger(preset, string(row[0]), string(row[1]), row[2], string(row[3]))
		}
	}
	if missing == len(rows) {
		return bellState{missing: fmt.Sprintf("`leadsman trigger-sql %s` prints a trigger that announces all jobs", preset)}
	}
	return state
}

// judgeTrigger says what a trigger rings with, or what is wrong with it.
func judgeTrigger(preset, table, name string, enabled []byte, comment string) bellState {
	again := fmt.Sprintf("install anew what `leadsman trigger-sql %s` prints", preset)
	version, keys, known := readBellComment(comment)
	switch {
	case enabled == nil:
		return bellState{fault: true, missing: fmt.Sprintf("the bell is missing on table %s: %s", table, again)}
	case string(enabled) != "O" && string(enabled) != "A":
		return bellState{fault: true, missing: fmt.Sprintf("the bell is disabled: ALTER TABLE %s ENABLE TRIGGER %s", table, name)}
	case !known:
		return bellState{fault: true, missing: "the comment that tells of the bell was lost: " + again}
	case version != bellVersion:
		return bellState{fault: true, missing: fmt.Sprintf("the bell is of version %d, and of %d is what this leadsman knows: %s",
			version, bellVersion, again)}
	}
	return bellState{keys: keys}
}

// neededTriggers is a query for the triggers of a bell: the tables, as to_regclass takes them, and the names.
func neededTriggers(b *driver.Bell, schema string) string {
	parts := make([]string, len(b.Tables))
	for i, t := range b.Tables {
		names := "('" + bellInsert + "')"
		if t.Update != "" {
			names += ", ('" + bellUpdate + "')"
		}
		table, from := literal(withSchema("{schema}"+quote(t.Name), schema)), ""
		if t.Each != "" {
			table = literal(withSchema("{schema}", schema)) + " || quote_ident(e.name)"
			from = " CROSS JOIN (" + withSchema(t.Each, schema) + ") AS e"
		}
		parts[i] = "SELECT " + table + ", t.name FROM (VALUES " + names + ") AS t(name)" + from
	}
	return strings.Join(parts, " UNION ALL ")
}
