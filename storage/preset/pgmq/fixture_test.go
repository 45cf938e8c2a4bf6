package pgmq_test

import (
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

//go:embed testdata/schema.sql
var schemaSQL string

// A fixture writes messages as pgmq does.
type fixture struct{ *sqltest.DB }

var _ storagetest.Fixture = fixture{}

// install makes pgmq's schema.
func install(db *sqltest.DB) fixture { return installIn(db, "pgmq") }

func installIn(db *sqltest.DB, schema string) fixture {
	name := pgx.Identifier{schema}.Sanitize()
	db.Exec("CREATE SCHEMA " + name + "; SET search_path = " + name)
	db.Exec(schemaSQL)
	return fixture{db}
}

// from is a time some time from now.
func from(d time.Duration) sqltest.Expr {
	return sqltest.Expr(fmt.Sprintf("clock_timestamp() + interval '%f seconds'", d.Seconds()))
}

// table is a queue's table, quoted.
func table(queue string) string { return pgx.Identifier{"q_" + strings.ToLower(queue)}.Sanitize() }

func (f fixture) send(queue string, n int, columns map[string]any) {
	f.TB().Helper()
	f.Exec("SELECT make($1)", queue)
	row := map[string]any{"vt": from(0), "message": "{}"}
	maps.Copy(row, columns)
	f.DB.Insert(table(queue), n, row)
}

// Insert implements storagetest.Fixture.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.send(queue, n, nil)
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.send(queue, n, map[string]any{"vt": from(in)})
}

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.send(queue, n, map[string]any{"vt": from(time.Minute), "read_ct": 1, "last_read_at": from(0)})
}

// Cancel implements storagetest.Fixture: what is deleted is gone.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.send(queue, n, nil)
	f.Exec("DELETE FROM " + table(queue))
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.Cancel(queue, n)
}

// Pause implements storagetest.Fixture.
func (f fixture) Pause(string) { f.TB().Fatal("pgmq cannot pause") }

// Orphan implements storagetest.Fixture.
func (f fixture) Orphan(string, int, time.Duration) {
	f.TB().Fatal("a message that nobody came back for is ready again")
}

// Fail implements storagetest.Fixture.
func (f fixture) Fail(string, int, time.Duration) { f.TB().Fatal("pgmq knows no failure") }

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(string, int, time.Duration) {
	f.TB().Fatal("a message that is put off looks like one in flight")
}
