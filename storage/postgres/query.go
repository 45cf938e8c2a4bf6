package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// A query is a preset's SQL made ready for the wire.
type query struct {
	text   string
	name   string   // of the prepared statement; "" when it is not to be prepared
	params []string // names of the parameters $1, $2, …
	static bool

	activity *query // for reads that ask for no more than activity; nil where there is none
}

// fit returns the query for a request.
func (q *query) fit(req driver.Request) *query {
	if q.activity != nil && req.Brief() {
		return q.activity
	}
	return q
}

// compile makes the queries of a preset ready: the one that it has, or one for each layout. version is the zero query
// where there is but one.
func compile(sql driver.SQL, schema string) (queries []query, version query, err error) {
	if err := layout.Check(sql); err != nil {
		return nil, query{}, err
	}
	if err := checkSchema(schema); err != nil {
		return nil, query{}, err
	}
	for _, text := range layout.Queries(sql) {
		q, err := newQuery(withSchema(text, schema), sql.Static)
		if err != nil {
			return nil, query{}, err
		}
		queries = append(queries, q)
	}
	if sql.Activity != "" {
		q, err := newQuery(withSchema(sql.Activity, schema), false)
		if err != nil {
			return nil, query{}, err
		}
		queries[0].activity = &q
	}
	// Asked once per connection, so it has no name to be prepared by.
	return queries, query{text: withSchema(sql.Version, schema)}, nil
}

// newQuery puts numbers in place of the parameters' names.
func newQuery(text string, static bool) (query, error) {
	q := query{text: text, static: static}
	if !static {
		names := pgx.NamedArgs{"wants": "wants", "limit": "limit", "running_max_age": "running_max_age"}
		text, args, err := names.RewriteQuery(context.Background(), nil, q.text, nil)
		if err != nil {
			return query{}, fmt.Errorf("the preset's query: %w", err)
		}
		q.text = text
		for _, arg := range args {
			name, ok := arg.(string)
			if !ok {
				return query{}, errors.New("the preset's query has a parameter other than @wants, @limit and @running_max_age")
			}
			q.params = append(q.params, name)
		}
	}
	q.name = statementName(q.text)
	return q, nil
}

// statementName is distinct for each text: behind a pooler two programs may meet on one server connection,
// and a name that meant something else there would read the wrong thing in silence.
func statementName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "leadsman_" + hex.EncodeToString(sum[:8])
}

// args are the parameters' values as text, in order.
func (q *query) args(req driver.Request, runningMaxAge float64) [][]byte {
	args := make([][]byte, 0, len(q.params))
	for _, name := range q.params {
		var value string
		switch name {
		case "wants":
			value = rows.Wants(req.Wants)
		case "limit":
			value = strconv.FormatInt(max(0, req.Limit), 10)
		case "running_max_age":
			value = strconv.FormatFloat(runningMaxAge, 'f', -1, 64)
		}
		args = append(args, []byte(value))
	}
	return args
}

// withSchema puts the quoted schema into a query's text.
func withSchema(text, schema string) string {
	if schema != "" {
		schema = quote(schema) + "."
	}
	return strings.ReplaceAll(text, "{schema}", schema)
}

// quote makes an identifier of any text.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
