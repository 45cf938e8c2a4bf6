package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leadsman/leadsman/storage/driver"
)

// classify turns a failed attempt into the one error that leaves the engine.
func (e *Engine) classify(ctx context.Context, a attempt) error {
	if known, ok := errors.AsType[*driver.Error](a.err); ok {
		return known
	}
	out := &driver.Error{Kind: driver.Unavailable, Err: a.err}
	var pg *pgconn.PgError
	switch {
	case errors.As(a.err, &pg):
		out.Kind, out.Message = e.explain(pg, a.user)
	case errors.Is(a.err, errDemoted):
		out.Message = a.err.Error() + "; name all hosts in the URL to follow the primary, or restart to read the standby"
	case a.busy && ctx.Err() != nil:
		out.Kind = driver.Timeout
		out.Message = fmt.Sprintf("all %d connections were busy until the deadline", e.cfg.MaxConns)
	case ctx.Err() != nil || pgconn.Timeout(a.err):
		out.Kind, out.Message = driver.Timeout, "the database did not answer in time"
	default:
		out.Message = "the database cannot be reached: " + reason(a.err)
	}
	return out
}

// explain gives the kind of a server's error, and what to do about it.
func (e *Engine) explain(pg *pgconn.PgError, user string) (driver.Kind, string) {
	said := fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	switch pg.Code {
	case "42501":
		return driver.Denied, e.grant(pg, user)
	case "42601", "25006": // syntax, read-only transaction
		return driver.Contract, "the query must be one statement that only reads: " + said
	case "57014", "55P03", "25P04": // cancelled by statement_timeout, lock_timeout, transaction_timeout
		return driver.Timeout, "the database did not answer in time: " + said
	case "3D000":
		return driver.Schema, said + "; name the right database in the URL"
	case "0A000":
		return driver.Schema, said
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "28":
		return driver.Denied, "the database refused the credentials: " + said
	case "42", "3F":
		return driver.Schema, said + "; run the job library's migrations, or set the source's schema to where its tables are"
	case "22", "21":
		return driver.Contract, "the query failed: " + said
	}
	return driver.Unavailable, "the database cannot serve the read now: " + said
}

// denied finds the object in "permission denied for table river_job"; the server may speak another language.
var denied = regexp.MustCompile(`^permission denied for (table|view|materialized view|relation|schema|sequence|function) (.+)$`)

// grant words a missing privilege together with the statement that gives it.
func (e *Engine) grant(pg *pgconn.PgError, user string) string {
	// By the routine that raised it, because messages are translated.
	if pg.Routine == "check_enable_rls" {
		return fmt.Sprintf("%s: rows would be hidden and counts too low; let the table's owner read, "+
			"give the role BYPASSRLS (ALTER ROLE %s BYPASSRLS), or exempt the table", pg.Message, quote(user))
	}
	statement := "GRANT SELECT ON the tables that the preset reads TO " + quote(user)
	if m := denied.FindStringSubmatch(pg.Message); m != nil {
		switch m[1] {
		case "schema":
			statement = fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", quote(m[2]), quote(user))
		case "function":
			statement = fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO %s", m[2], quote(user))
		default:
			statement = fmt.Sprintf("GRANT SELECT ON %s TO %s", e.qualify(m[2]), quote(user))
		}
	}
	return fmt.Sprintf("%s; as the owner run: %s", pg.Message, statement)
}

func (e *Engine) qualify(table string) string {
	if e.cfg.Schema == "" {
		return quote(table)
	}
	return quote(e.cfg.Schema) + "." + quote(table)
}

// reason shortens a connection error to what helps: pgx joins one per address and TLS mode.
func reason(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	text, _, _ := strings.Cut(innermost(err).Error(), "\n")
	return text
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
