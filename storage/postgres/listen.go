package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// maxChannel is the longest name of a channel, in bytes.
	maxChannel = 63
	silent     = "notifications do not arrive: a canary went unheard, as it does through a transaction pooler; " +
		"set listenURL to a connection that leads straight to the database"
)

// session connects, makes sure that notifications arrive, and reports them until the connection or ctx ends.
// healthy says that it came to listen.
func (w *watcher) session(ctx context.Context) (healthy bool, err error) {
	conn, err := w.connect(ctx)
	if err != nil {
		return false, err
	}
	defer w.hangUp(conn) //nolint:contextcheck // it must hang up when ctx is done too

	schema, err := w.inspect(ctx, conn)
	if err != nil {
		return false, err
	}
	state, err := w.findBell(ctx, conn)
	switch {
	case err != nil:
		return false, err
	case !state.installed() && !w.announced():
		return false, unable{"the job library announces nothing: " + state.missing}
	}
	canary := "leadsman_canary_" + strings.ToLower(rand.Text())
	if err := w.hearCanary(ctx, conn, canary); err != nil {
		return false, err
	}
	if err := w.listenTo(ctx, conn, schema); err != nil {
		return false, err
	}
	s := &session{w: w, conn: conn, canary: canary, state: state, checkAt: time.Now().Add(w.timing.check)}
	if state.installed() {
		s.bell = w.newBell(conn, state.keys)
		defer s.bell.stop() //nolint:contextcheck // it must let go when ctx is done too
		if err := s.bell.start(ctx); err != nil {
			return false, err
		}
	}
	w.push(w.modeOf(state))
	w.sink.Signal("") // for what was missed meanwhile
	return true, s.drain(ctx)
}

// modeOf is the mode of a session that listens, and why it is not a better one.
func (w *watcher) modeOf(state bellState) (driver.Mode, string) {
	switch {
	case state.installed():
		return driver.ModeBell, ""
	case w.listen.Partial != "" && w.engine.cfg.SQL.Bell != nil:
		return driver.ModeEdgePoll, w.listen.Partial + "; " + state.missing
	case w.listen.Partial != "":
		return driver.ModeEdgePoll, w.listen.Partial
	case state.fault:
		return driver.ModeListen, state.missing
	default:
		return driver.ModeListen, ""
	}
}

func (w *watcher) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := w.engine.connConfig(w.engine.cfg.ListenURL)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config) // has its own timeout in config
}

// hangUp ends the connection in order where the server still listens to that.
func (w *watcher) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelWait)
	defer cancel()
	_ = conn.Close(ctx) // nothing is lost with it
}

// command runs statements by the simple protocol, each committed at once: a listener must never be in a
// transaction, and a pooler must have nothing to remember. It returns the rows of the first result.
func (w *watcher) command(ctx context.Context, conn *pgconn.PgConn, sql string) ([][][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timing.canary)
	defer cancel()
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0].Rows, nil
}

// inspect refuses a standby, on which nobody can listen, and finds the schema that the channels are named by.
func (w *watcher) inspect(ctx context.Context, conn *pgx.Conn) (schema string, err error) {
	rows, err := w.command(ctx, conn.PgConn(), "SELECT pg_is_in_recovery(), current_schema()")
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return "", fmt.Errorf("the server answered with %q", rows)
	}
	row := rows[0]
	if string(row[0]) != "f" {
		return "", unable{"the server is a standby, and nobody can listen there; set listenURL to the primary"}
	}
	if w.engine.cfg.Schema != "" {
		return w.engine.cfg.Schema, nil
	}
	return string(row[1]), nil
}

// hearCanary makes sure that what one connection announces reaches this one while it is idle. The canary is
// sent by another connection, because a transaction pooler does deliver what a client sends to itself.
func (w *watcher) hearCanary(ctx context.Context, conn *pgx.Conn, canary string) error {
	if _, err := w.command(ctx, conn.PgConn(), "LISTEN "+quote(canary)); err != nil {
		return err
	}
	if err := w.sing(ctx, canary); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.timing.canary)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case n != nil && n.Channel == canary:
			return nil
		case err != nil && pgconn.Timeout(err):
			// Not to leave it behind on the pooler's connection; it does its best.
			_, _ = w.command(context.WithoutCancel(ctx), conn.PgConn(), "UNLISTEN "+quote(canary))
			return unable{silent}
		case err != nil:
			return err
		}
	}
}

// sing announces on the canary's channel: from the pool, and where that cannot, as when it reads a standby, from
// a connection made for it.
func (w *watcher) sing(ctx context.Context, canary string) error {
	notify := "NOTIFY " + quote(canary)
	if pooled, err := w.engine.pool.Acquire(ctx); err == nil {
		stateOf(pooled.Conn()).used = true // a read that finds it dead later is to try another
		_, err = w.command(ctx, pooled.Conn().PgConn(), notify)
		pooled.Release()
		if err == nil {
			return nil
		}
	}
	conn, err := w.connect(ctx)
	if err != nil {
		return err
	}
	defer w.hangUp(conn) //nolint:contextcheck // it must hang up when ctx is done too
	_, err = w.command(ctx, conn.PgConn(), notify)
	return err
}

// listenTo listens to the preset's channels.
func (w *watcher) listenTo(ctx context.Context, conn *pgx.Conn, schema string) error {
	channels, err := w.channels(ctx, conn, schema)
	if err != nil {
		return err
	}
	for _, channel := range channels {
		if len(channel) > maxChannel {
			return unable{fmt.Sprintf("channel %q is longer than PostgreSQL's %d bytes", channel, maxChannel)}
		}
		if _, err := w.command(ctx, conn.PgConn(), "LISTEN "+quote(channel)); err != nil {
			return err
		}
	}
	return nil
}

// channels are those that the preset names and those that its query finds.
func (w *watcher) channels(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	var channels []string
	for _, channel := range w.listen.Channels {
		if strings.Contains(channel, "{schema}") && schema == "" {
			return nil, unable{"no schema of the search path exists, by which the channels are named; set the source's schema"}
		}
		channels = append(channels, strings.ReplaceAll(channel, "{schema}", schema))
	}
	if w.listen.Query == "" {
		return channels, nil
	}
	rows, err := w.command(ctx, conn.PgConn(), withSchema(w.listen.Query, w.engine.cfg.Schema))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if len(row) > 0 && len(row[0]) > 0 {
			channels = append(channels, string(row[0]))
		}
	}
	return channels, nil
}
