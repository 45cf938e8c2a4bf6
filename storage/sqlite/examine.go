package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements driver.Examiner: the file, its journal, the version of its tables, and by which indexes the query goes.
func (e *Engine) Examine(ctx context.Context) ([]driver.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	if err := e.take(ctx); err != nil {
		return nil, e.classify(ctx, err)
	}
	defer e.yield()
	x := &examination{engine: e}
	if err := x.examine(ctx); err != nil {
		return nil, e.classify(ctx, errors.Join(err, e.closeFile()))
	}
	e.idle.Reset(readIdle)
	return x.findings, nil
}

// An examination is one run of Examine; its caller has the turn.
type examination struct {
	engine   *Engine
	findings []driver.Finding
}

func (x *examination) add(check string, level driver.Level, found, remedy string) {
	x.findings = append(x.findings, driver.Finding{Check: check, Level: level, Found: found, Remedy: remedy})
}

// examine looks at the file. One that can be opened and does not hold the tables is an error of Kind Schema, which is the
// read's to tell.
func (x *examination) examine(ctx context.Context) error {
	x.network()
	err := x.engine.reopen(ctx)
	if err == nil {
		err = x.engine.file.prepare(ctx, x.engine.file.query)
	}
	if err != nil {
		if known, ok := errors.AsType[*driver.Error](x.engine.classify(ctx, err)); ok && known.Kind == driver.Schema {
			return nil
		}
		return err
	}
	if err := x.journal(ctx); err != nil {
		return err
	}
	if err := x.version(ctx); err != nil {
		return err
	}
	return x.indexes(ctx)
}

func (x *examination) network() {
	path := x.engine.cfg.Path
	if name := x.engine.network(path); name != "" {
		x.add("file system", driver.LevelWarn, networkReason(path, name),
			"put the file on a disk of this machine, or the queue into a database server")
		return
	}
	x.add("file system", driver.LevelOK, "local", "")
}

// journal says how the file's writers and its readers keep out of each other's way.
func (x *examination) journal(ctx context.Context) error {
	mode, err := x.text(ctx, "PRAGMA journal_mode")
	if err != nil {
		return err
	}
	if mode == "wal" {
		x.add("journal", driver.LevelOK, "WAL: readers and the writer do not wait for each other", "")
		return nil
	}
	x.add("journal", driver.LevelWarn, "journal mode "+mode+": a commit waits for readers, and a writer without a busy timeout fails",
		"let the program that enqueues run PRAGMA journal_mode=WAL once, and PRAGMA busy_timeout=5000 on each connection")
	return nil
}

// version says which version the tables are of, for libraries whose tables differ by it; the file would not be open if it
// were not known.
func (x *examination) version(ctx context.Context) error {
	e := x.engine
	if e.version == "" {
		return nil
	}
	found, err := column(ctx, e.file.db, e.version)
	if err != nil {
		return err
	}
	if _, err := layout.Choose(e.cfg.SQL.Layouts, found); err != nil {
		return err
	}
	x.add("schema version", driver.LevelOK, fmt.Sprintf("%v, which this leadsman knows", found[0]), "")
	return nil
}

// usedIndex finds the index in "SEARCH j USING COVERING INDEX jobs_by_queue (queue=?)".
var usedIndex = regexp.MustCompile(` USING (?:\w+ )*INDEX (\S+)`)

// indexes plans the query. SQLite does not say how long a table is without counting, so a scan is worth a note.
func (x *examination) indexes(ctx context.Context) error {
	e := x.engine
	text, err := e.choose(ctx, e.file.db)
	if err != nil {
		return err
	}
	args := e.args(driver.Request{Wants: []driver.Want{{}}, Limit: 1})
	steps, err := e.file.db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return err
	}
	defer steps.Close()
	by := map[string]bool{}
	for steps.Next() {
		var id, parent, unused int
		var detail string
		if err := steps.Scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		if m := usedIndex.FindStringSubmatch(detail); m != nil {
			by[m[1]] = true
		}
	}
	if err := steps.Err(); err != nil {
		return err
	}
	if len(by) == 0 {
		x.add("indexes", driver.LevelNote, "a sample goes by no index, and takes longer the more jobs there are", "")
		return nil
	}
	x.add("indexes", driver.LevelOK, "a sample goes by "+strings.Join(slices.Sorted(maps.Keys(by)), ", "), "")
	return nil
}

// text returns the one value of a query.
func (x *examination) text(ctx context.Context, query string) (string, error) {
	values, err := column(ctx, x.engine.file.db, query)
	if err != nil || len(values) != 1 {
		return "", errors.Join(err, fmt.Errorf("%s returned %d rows", query, len(values)))
	}
	return fmt.Sprint(values[0]), nil
}
