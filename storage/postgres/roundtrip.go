package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// binary asks for all result columns in binary form, which no DateStyle or TimeZone of the database can bend.
var binary = []int16{pgtype.BinaryFormatCode}

// A head is what the settings statement tells of the server.
type head struct {
	now     time.Time
	standby bool
}

// A request is one statement on its way to one connection.
type request struct {
	settings, query query
	args            [][]byte
	unnamed         bool // do without prepared statements
}

// roundTrip sends settings and query in one pipeline, whose statements are one implicit transaction, and has
// receive read the query's result, once the server is admitted.
//
// Statements are prepared within the same pipeline on first use, not ahead of it as pgx's own cache does:
// parsing already takes locks on the tables, and must be under lock_timeout.
func (e *Engine) roundTrip(
	ctx context.Context, conn *pgx.Conn, req request, receive func(head, *pgconn.ResultReader) error,
) (head, error) {
	state := stateOf(conn)
	p := conn.PgConn().StartPipeline(ctx)
	var fresh []string
	send := func(q query, args [][]byte) {
		switch {
		case req.unnamed || q.name == "":
			p.SendQueryParams(q.text, args, nil, nil, binary)
			return
		case !state.prepared[q.name]:
			p.SendPrepare(q.name, q.text, nil)
			fresh = append(fresh, q.name)
		}
		p.SendQueryPrepared(q.name, args, nil, binary)
	}
	send(req.settings, nil)
	send(req.query, req.args)
	if err := p.Sync(); err != nil {
		return head{}, errors.Join(err, p.Close())
	}
	h, err := e.results(p, conn, receive)
	// Close drains the pipeline; its error is the first that the server sent, which results has returned.
	if cerr := p.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		for _, name := range fresh {
			state.prepared[name] = true
		}
	}
	return h, err
}

// results reads the two results in the order in which they were sent.
func (e *Engine) results(p *pgconn.Pipeline, conn *pgx.Conn, receive func(head, *pgconn.ResultReader) error) (head, error) {
	first, err := nextResult(p)
	if err != nil {
		return head{}, err
	}
	h, err := readHead(first, conn.TypeMap())
	if err != nil {
		return head{}, err
	}
	if err := e.admit(h, stateOf(conn).location); err != nil {
		return head{}, err
	}
	second, err := nextResult(p)
	if err != nil {
		return head{}, err
	}
	return h, receive(h, second)
}

// nextResult skips the answers to preparations.
func nextResult(p *pgconn.Pipeline) (*pgconn.ResultReader, error) {
	for {
		result, err := p.GetResults()
		if err != nil {
			return nil, err
		}
		switch result := result.(type) {
		case *pgconn.StatementDescription:
		case *pgconn.ResultReader:
			return result, nil
		default:
			return nil, fmt.Errorf("unexpected %T in the pipeline", result)
		}
	}
}

// readHead reads the one row of the settings statement.
func readHead(r *pgconn.ResultReader, m *pgtype.Map) (head, error) {
	var h head
	var err error
	n := 0
	for r.NextRow() {
		n++
		standby, serr := decode(m, r.FieldDescriptions()[0], r.Values()[0])
		now, nerr := decode(m, r.FieldDescriptions()[1], r.Values()[1])
		var ok1, ok2 bool
		h.standby, ok1 = standby.(bool)
		h.now, ok2 = now.(time.Time)
		if err = errors.Join(serr, nerr); err == nil && !(ok1 && ok2) {
			err = fmt.Errorf("the server's clock reads %v", now)
		}
	}
	if _, cerr := r.Close(); cerr != nil {
		return head{}, cerr
	}
	if n != 1 {
		return head{}, fmt.Errorf("the settings statement returned %d rows", n)
	}
	return h, err
}

// readQueues reads the preset's rows.
func readQueues(r *pgconn.ResultReader, m *pgtype.Map, opts rows.Options) ([]driver.Queue, error) {
	fields := r.FieldDescriptions()
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = f.Name
	}
	d, err := rows.NewDecoder(columns, opts)
	values := make([]any, len(fields))
	for r.NextRow() && err == nil {
		for i, raw := range r.Values() {
			if values[i], err = decode(m, fields[i], raw); err != nil {
				break
			}
		}
		if err == nil {
			err = d.Add(values)
		}
	}
	if _, cerr := r.Close(); cerr != nil {
		return nil, cerr // of the server, and so the better explanation
	}
	if err != nil {
		return nil, err
	}
	return d.Queues(), nil
}
