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
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// A query is a preset's SQL made ready for the wire.
type query struct {
	text   string
	name   string   // of the prepared statement
	params []string // names of the parameters $1, $2, …
	static bool
}

// compile puts the quoted schema into the text and numbers in place of the parameters' names.
func compile(sql driver.SQL, schema string) (query, error) {
	if strings.TrimSpace(sql.Query) == "" {
		return query{}, errors.New("the preset's query is empty")
	}
	if strings.ContainsRune(schema, 0) {
		return query{}, errors.New("the schema's name holds a zero byte")
	}
	prefix := ""
	if schema != "" {
		prefix = quote(schema) + "."
	}
	q := query{text: strings.ReplaceAll(sql.Query, "{schema}", prefix), static: sql.Static}
	if !sql.Static {
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

// quote makes an identifier of any text.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
