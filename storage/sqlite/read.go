package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// prepareText takes the {schema} of a preset's query away, because a file has none, and the space at its end: what
// follows the first statement makes the driver compile the text anew each time, which takes longer than the read.
func prepareText(query string) string {
	return strings.TrimSpace(strings.ReplaceAll(query, "{schema}", ""))
}

// Read implements driver.Reader. Reads take turns; waiting for one's turn counts towards the timeout.
func (e *Engine) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	if err := e.take(ctx); err != nil {
		return driver.Reading{}, e.classify(ctx, err)
	}
	defer e.yield()
	reading, err := e.readFile(ctx, req)
	if err != nil {
		// Whatever is wrong with the connection, the next read is not to inherit it.
		return driver.Reading{}, e.classify(ctx, errors.Join(err, e.closeFile()))
	}
	e.idle.Reset(readIdle)
	return reading, nil
}

// readFile answers req; its caller has the turn.
func (e *Engine) readFile(ctx context.Context, req driver.Request) (driver.Reading, error) {
	if err := e.reopen(ctx); err != nil {
		return driver.Reading{}, err
	}
	// The file's clock is this machine's: SQLite has no server.
	reading := driver.Reading{Now: time.Now().UTC(), Notes: e.notes()}
	queues, err := e.queryQueues(ctx, req, reading.Now)
	if err != nil {
		return driver.Reading{}, err
	}
	reading.Queues = queues
	return reading, nil
}

// reopen leaves e.file open on the file that the path names now.
func (e *Engine) reopen(ctx context.Context) error {
	if e.file != nil {
		info, err := stat(e.cfg.Path)
		if err == nil && e.file.isAt(info) {
			return nil
		}
		if err := errors.Join(err, e.closeFile()); err != nil {
			return err
		}
	}
	f, err := openFile(ctx, e.cfg.Path, e.cfg.BusyTimeout, e.choose)
	if err != nil {
		return err
	}
	e.file = f
	return nil
}

func (e *Engine) queryQueues(ctx context.Context, req driver.Request, now time.Time) ([]driver.Queue, error) {
	query := e.file.query
	if e.activity != "" && req.Brief() {
		query = e.activity
	}
	if err := e.file.prepare(ctx, query); err != nil {
		return nil, err
	}
	result, err := e.file.prepared[query].QueryContext(ctx, e.args(req)...)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	columns, err := result.Columns()
	if err != nil {
		return nil, err
	}
	decoder, err := rows.NewDecoder(columns, rows.Options{
		Request: req, Static: e.cfg.SQL.Static, Now: now, TextTimes: true,
	})
	if err != nil {
		return nil, err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for result.Next() {
		if err := result.Scan(targets...); err != nil {
			return nil, err
		}
		if err := decoder.Add(fit(values)); err != nil {
			return nil, err
		}
	}
	if err := result.Err(); err != nil {
		return nil, err
	}
	return decoder.Queues(), nil
}

// args are the query's named parameters.
func (e *Engine) args(req driver.Request) []any {
	if e.cfg.SQL.Static {
		return nil
	}
	return []any{
		sql.Named("wants", rows.Wants(req.Wants)),
		sql.Named("limit", req.Limit),
		sql.Named("running_max_age", e.cfg.RunningMaxAge.Seconds()),
	}
}

// fit replaces what the row contract has no word for, in place.
func fit(values []any) []any {
	for i, v := range values {
		if blob, ok := v.([]byte); ok {
			values[i] = rows.Unfit(fmt.Sprintf("a blob of %d bytes", len(blob)))
		}
	}
	return values
}

// notes are what a person should know of the file although it can be read.
func (e *Engine) notes() []string {
	notes := append([]string(nil), e.cfg.SQL.Notes...)
	if name := e.network(e.cfg.Path); name != "" {
		notes = append(notes, networkReason(e.cfg.Path, name))
	}
	return notes
}

func networkReason(path, name string) string {
	text := fmt.Sprintf("%s is on %s: file events do not cross the network, so jobs are found by polling", path, name)
	if _, err := os.Stat(path + "-wal"); err == nil {
		text += "; and WAL mode works only between programs on one machine: use PRAGMA journal_mode=DELETE"
	}
	return text
}
