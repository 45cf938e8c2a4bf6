package pgboss

import (
	_ "embed" // for the queries
	"strings"
	"text/template"

	"github.com/leadsman/leadsman/storage/driver"
)

// A layout is what differs between versions of pg-boss's schema, in SQL.
type layout struct {
	from, to int64

	Waiting   []string // what holds for jobs that wait, one condition for each probe of an index
	Due       string   // the column that says when a job may be fetched
	Started   string   // the column that says when it was
	Expires   string   // how long after that it expires, an interval
	Queues    bool     // there is a table of queues
	Heartbeat bool     // a job may have one
	Instances bool     // there is a registry of instances
}

const (
	due       = "start_after"
	started   = "started_on"
	waits     = "j.state < 'active'"
	unblocked = waits + " AND NOT j.blocked"
	seconds   = "j.expire_seconds * interval '1 second'"
)

// layouts are the versions from pg-boss 9 to 12.38.
var layouts = []layout{
	{from: 20, to: 20, Waiting: []string{waits}, Due: "startafter", Started: "startedon", Expires: "j.expirein"},
	{from: 21, to: 24, Waiting: []string{waits}, Due: due, Started: started, Expires: "j.expire_in", Queues: true},
	{from: 25, to: 30, Waiting: []string{waits}, Due: due, Started: started, Expires: seconds, Queues: true},
	{
		from: 31, to: 43, Waiting: []string{unblocked}, Due: due, Started: started, Expires: seconds,
		Queues: true, Heartbeat: true,
	},
	{
		from: 44, to: 45, Waiting: []string{unblocked}, Due: due, Started: started, Expires: seconds,
		Queues: true, Heartbeat: true, Instances: true,
	},
	{
		// An index leads from the name by the state to the time.
		from: 46, to: 46, Waiting: []string{"j.state = 'created' AND NOT j.blocked", "j.state = 'retry' AND NOT j.blocked"},
		Due: due, Started: started, Expires: seconds, Queues: true, Heartbeat: true, Instances: true,
	},
}

//go:embed postgres.sql.tmpl
var source string

// queries writes the query of each layout.
func queries(layouts []layout) []driver.Layout {
	t := template.Must(template.New("postgres.sql").Parse(source))
	out := make([]driver.Layout, len(layouts))
	for i, l := range layouts {
		var text strings.Builder
		if err := t.Execute(&text, l); err != nil {
			panic(err) // of our own text; every test of the preset would see it
		}
		out[i] = driver.Layout{From: l.from, To: l.to, Query: text.String()}
	}
	return out
}
