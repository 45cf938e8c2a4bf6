// Package rows turns what a SQL preset's query returns into queues, by the row contract that driver.SQL
// states, and a request's wants into the JSON that such a query takes. The SQL engines share it: they bring
// rows as plain Go values and get checked queues back.
//
// It is strict on purpose. A column that is missing, a NaN, a text where a number belongs or a queue that
// comes twice is an error of kind Contract that names the queue and the column, never a zero.
//
// The package does no I/O and starts no goroutines.
package rows

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leadsman/leadsman/storage/driver"
)

// Options say how rows are to be read.
type Options struct {
	// Request is what was asked.
	Request driver.Request
	// Static is driver.SQL's: the query knew nothing of the request, so the wanted queues are picked here.
	Static bool
	// Now is the backend's clock, to which columns that hold a time are compared.
	Now time.Time
	// TextTimes accepts a time as SQLite stores it: text, in UTC where it names no zone.
	TextTimes bool
}

// A Decoder collects the rows of one result. It is not safe for concurrent use.
type Decoder struct {
	opts    Options
	columns map[string]int // by name in the result, for the columns of the contract only
	wanted  map[driver.Want]bool
	every   []time.Duration // the lookaheads of those wants that ask for every queue
	seen    map[driver.Want]bool
	queues  []driver.Queue
}

// known are the columns of the row contract; others are ignored.
var known = [...]string{
	"queue", "lookahead", "known", "ready", "running", "scheduled", "saturated", "oldest_seconds",
	"oldest_ready_at", "next_due_seconds", "next_due_at", "paused", "workers", "capacity",
}

// NewDecoder checks the result's column names, given in order.
func NewDecoder(columns []string, opts Options) (*Decoder, error) {
	d := &Decoder{
		opts:    opts,
		columns: make(map[string]int, len(known)),
		wanted:  make(map[driver.Want]bool, len(opts.Request.Wants)),
		seen:    make(map[driver.Want]bool),
	}
	for i, name := range columns {
		if _, twice := d.columns[name]; twice {
			return nil, driver.Errorf(driver.Contract, "the query returns column %q twice", name)
		}
		for _, k := range known {
			if name == k {
				d.columns[name] = i
			}
		}
	}
	for _, name := range d.required() {
		if _, ok := d.columns[name]; !ok {
			return nil, driver.Errorf(driver.Contract,
				"the query returns no column %q; its columns are %s", name, strings.Join(columns, ", "))
		}
	}
	if err := d.setWants(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Decoder) required() []string {
	if d.opts.Static {
		return []string{"queue", "ready"}
	}
	return []string{"queue", "ready", "lookahead"}
}

func (d *Decoder) setWants() error {
	for _, want := range d.opts.Request.Wants {
		if d.opts.Static && want.Lookahead != 0 {
			return driver.Errorf(driver.Contract, "this source's query cannot look ahead; leave lookahead out")
		}
		d.wanted[want] = true
		if want.Queue == "" {
			d.every = append(d.every, want.Lookahead)
		}
	}
	return nil
}

// Add takes one row, its values in the order of NewDecoder's columns: nil, bool, int64, float64, string,
// time.Time, or Unfit for what is none of these. It keeps nothing of values.
func (d *Decoder) Add(values []any) error {
	r := row{decoder: d, values: values}
	q := r.queue()
	if r.err != nil {
		return r.err
	}
	want := driver.Want{Queue: q.Name, Lookahead: q.Lookahead}
	if d.seen[want] {
		return driver.Errorf(driver.Contract, "queue %q: the query returned it in two rows; group by queue", q.Name)
	}
	d.seen[want] = true
	if !d.wanted[want] && !d.wanted[driver.Want{Lookahead: want.Lookahead}] {
		if d.opts.Static {
			return nil
		}
		return driver.Errorf(driver.Contract,
			"queue %q: the query returned it with lookahead %s, which was not asked for", q.Name, q.Lookahead)
	}
	d.queues = append(d.queues, q)
	return nil
}

// Queues returns the queues of the rows added, and for each named want without a row a queue that is not
// known.
func (d *Decoder) Queues() []driver.Queue {
	out := d.queues
	for _, want := range d.opts.Request.Wants {
		if want.Queue != "" && !d.seen[want] {
			out = append(out, driver.Queue{Name: want.Queue, Lookahead: want.Lookahead})
		}
	}
	return out
}

// Wants returns the value of the parameter @wants. Names that no SQL text can equal, because they hold a
// zero byte or are not UTF-8, are left out: one such name, which anybody may write into a trigger, must not
// break the read for all others. Queues answers for them as not known.
func Wants(wants []driver.Want) string {
	type want struct {
		Queue     *string `json:"queue"`
		Lookahead float64 `json:"lookahead"`
	}
	list := make([]want, 0, len(wants))
	for i := range wants {
		w := want{Lookahead: wants[i].Lookahead.Seconds()}
		if name := wants[i].Queue; name != "" {
			if strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
				continue
			}
			w.Queue = &name
		}
		list = append(list, w)
	}
	text, err := json.Marshal(list)
	if err != nil { // strings and finite floats always marshal
		panic(err)
	}
	return string(text)
}
