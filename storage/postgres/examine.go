package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements driver.Examiner: the server and the role, whether a pooler lies between, the version of the tables,
// what may not be read, what a policy would hide, and by which indexes the query would go. All of it is in the catalogs,
// which need no privilege, or in a plan that is not executed.
func (e *Engine) Examine(ctx context.Context) ([]driver.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*e.cfg.Timeout) // several statements, each bounded by itself
	defer cancel()
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, e.classify(ctx, attempt{err: err})
	}
	defer conn.Release()
	state := stateOf(conn.Conn())
	state.used = true // a read that finds it dead later is to try another
	x := &examination{engine: e, conn: conn.Conn(), user: state.user}
	if err := x.examine(ctx); err != nil {
		_ = x.conn.PgConn().Close(ctx) // whatever is wrong with it, the next read is not to inherit it
		return nil, e.classify(ctx, attempt{err: err, user: x.user})
	}
	return x.findings, nil
}

// An examination is one run of Examine on one connection.
type examination struct {
	engine   *Engine
	conn     *pgx.Conn
	user     string // as in the URL, until the server has said who it is
	findings []driver.Finding

	query     *query     // that fits the tables; nil where that is not known
	relations []relation // that the preset names and that there are
}

func (x *examination) add(check string, level driver.Level, found, remedy string) {
	x.findings = append(x.findings, driver.Finding{Check: check, Level: level, Found: found, Remedy: remedy})
}

func (x *examination) examine(ctx context.Context) error {
	role, err := x.server(ctx)
	if err != nil {
		return err
	}
	if err := x.version(ctx); err != nil {
		return err
	}
	if x.relations, err = x.named(ctx); err != nil {
		return err
	}
	x.permissions()
	x.privileges(role)
	x.policies(role)
	return x.indexes(ctx)
}

// ask runs one statement under the settings of a read, by the simple protocol, and returns its rows.
func (x *examination) ask(ctx context.Context, sql string) ([][][]byte, error) {
	results, err := x.conn.PgConn().Exec(ctx, x.engine.settings.text+"; "+sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) != 2 {
		return nil, fmt.Errorf("the server answered two statements with %d results", len(results))
	}
	return results[1].Rows, results[1].Err
}

// A role is what the server knows of the user.
type role struct {
	name            string
	super, bypasses bool // bypasses row-level security
	connections     string
}

// server finds out who answers, and whether that is the one that was connected to.
func (x *examination) server(ctx context.Context) (role, error) {
	rows, err := x.ask(ctx, `SELECT current_user, pg_backend_pid(), pg_is_in_recovery(), current_setting('server_version'),
			r.rolsuper, r.rolbypassrls, r.rolconnlimit
		FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`)
	if err != nil {
		return role{}, err
	}
	if len(rows) != 1 {
		return role{}, fmt.Errorf("the server knows of %d roles called as its user", len(rows))
	}
	row := texts(rows[0])
	r := role{name: row[0], super: row[4] == "t", bypasses: row[5] == "t", connections: row[6]}
	x.user = r.name
	x.add("credentials", driver.LevelOK, "the server lets "+quote(r.name)+" in", "")
	version, _, _ := strings.Cut(row[3], " ")
	if row[2] == "t" {
		x.add("server", driver.LevelNote, "PostgreSQL "+version+", a standby: what is read may lag behind its primary", "")
	} else {
		x.add("server", driver.LevelOK, "PostgreSQL "+version+", a primary", "")
	}
	x.pooler(row[1])
	return r, nil
}

// pooler compares the process that the handshake named with the one that answers. A pooler hands out keys of its own
// making, because it has no process for each client.
func (x *examination) pooler(pid string) {
	switch {
	case fmt.Sprint(x.conn.PgConn().PID()) == pid:
		x.add("pooler", driver.LevelOK, "none: the connection leads straight to a server process", "")
	case x.engine.unnamed.Load() && !x.engine.cfg.Pooler:
		x.add("pooler", driver.LevelWarn, "a pooler lies between, on which prepared statements do not survive",
			"set pooler: true on the source, which saves a failed read on each start")
	default:
		x.add("pooler", driver.LevelNote, "a pooler lies between; whether notifications pass it is for the push check to say", "")
	}
}

// version finds the query for the version of the tables.
func (x *examination) version(ctx context.Context) error {
	e := x.engine
	if e.version.text == "" {
		x.query = &e.queries[0]
		return nil
	}
	found, err := e.readVersion(ctx, x.conn, true)
	if err == nil {
		var i int
		if i, err = layout.Choose(e.cfg.SQL.Layouts, found); err == nil {
			x.query = &e.queries[i]
			x.add("schema version", driver.LevelOK, fmt.Sprintf("%v, which this leadsman knows", found[0]), "")
			return nil
		}
	}
	if ctx.Err() != nil || x.conn.IsClosed() {
		return err
	}
	known, ok := errors.AsType[*driver.Error](e.classify(ctx, attempt{err: err, user: x.user}))
	if ok && known.Kind != driver.Denied { // which permissions says in full
		found, remedy, _ := strings.Cut(known.Message, "; ")
		x.add("schema version", driver.LevelFail, found, remedy)
	}
	return nil
}

func texts(row [][]byte) []string {
	out := make([]string, len(row))
	for i, value := range row {
		out[i] = string(value)
	}
	return out
}
