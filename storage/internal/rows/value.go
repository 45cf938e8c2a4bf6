package rows

import (
	"fmt"
	"math"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Unfit is a value that no column of the contract can take, given by an engine as the words that say what it
// is: "a timestamp without time zone".
type Unfit string

// A row reads the values of one row and remembers the first fault.
type row struct {
	decoder *Decoder
	values  []any
	name    string // the queue's, once known
	err     error
}

// queue reads the whole row.
func (r *row) queue() driver.Queue {
	r.name = r.queueName()
	q := driver.Queue{Name: r.name, Known: true}
	if !r.decoder.opts.Static {
		q.Lookahead = seconds(r.number("lookahead"))
	}
	if known, ok := r.boolean("known"); ok {
		q.Known = known
	}
	q.Saturated, _ = r.boolean("saturated")
	q.Paused, _ = r.boolean("paused")
	q.Ready = r.bounded("ready", &q)
	q.Running = r.bounded("running", &q)
	q.Scheduled = r.bounded("scheduled", &q)
	q.Oldest = max(0, r.oldest())
	q.NextDue = max(0, r.nextDue())
	q.Pool = r.pool()
	return q
}

// value returns a column's value; nil when it is NULL, absent, or a fault came before.
func (r *row) value(column string) any {
	i, ok := r.decoder.columns[column]
	if !ok || r.err != nil {
		return nil
	}
	if i >= len(r.values) {
		r.failf(column, "is missing from the row")
		return nil
	}
	return r.values[i]
}

func (r *row) failf(column, format string, args ...any) {
	if r.err != nil {
		return
	}
	queue := ""
	if r.name != "" {
		queue = fmt.Sprintf("queue %q: ", r.name)
	}
	r.err = driver.Errorf(driver.Contract, "%scolumn %q %s", queue, column, fmt.Sprintf(format, args...))
}

func (r *row) queueName() string {
	switch v := r.value("queue").(type) {
	case string:
		if v == "" {
			r.failf("queue", "is empty; each row names its queue")
		}
		return v
	case nil:
		r.failf("queue", "is NULL; each row names its queue")
	default:
		r.failf("queue", "holds %s; cast it to text", describe(v))
	}
	return ""
}

// bounded reads a count and holds it to the request's limit, for queries that know no limit.
func (r *row) bounded(column string, q *driver.Queue) int64 {
	n := r.count(column)
	if limit := r.decoder.opts.Request.Limit; limit > 0 && n > limit {
		q.Saturated = true
		return limit
	}
	return n
}

// count reads a whole number that is not negative; NULL is 0.
func (r *row) count(column string) int64 {
	var n int64
	switch v := r.value(column).(type) {
	case nil:
		return 0
	case int64:
		n = v
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			r.failf(column, "is %v; a count is a whole number", v)
		case v != math.Trunc(v):
			r.failf(column, "is %v; a count is a whole number", v)
		case math.Abs(v) >= math.MaxInt64:
			r.failf(column, "is %v, more than can be counted", v)
		default:
			n = int64(v)
		}
	default:
		r.failf(column, "holds %s; a count is a whole number", describe(v))
	}
	if n < 0 {
		r.failf(column, "is %d; a count is never negative", n)
	}
	return n
}

// number reads a finite number; NULL is 0.
func (r *row) number(column string) float64 {
	switch v := r.value(column).(type) {
	case nil:
		return 0
	case int64:
		return float64(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.failf(column, "is %v; a number of seconds is finite", v)
			return 0
		}
		return v
	default:
		r.failf(column, "holds %s; it must be a number of seconds", describe(v))
		return 0
	}
}

// boolean reads a truth value; ok is false for NULL and for an absent column. SQLite stores 0 and 1.
func (r *row) boolean(column string) (value, ok bool) {
	switch v := r.value(column).(type) {
	case nil:
		return false, false
	case bool:
		return v, true
	case int64:
		if v == 0 || v == 1 {
			return v == 1, true
		}
		r.failf(column, "is %d; it must be true or false", v)
	default:
		r.failf(column, "holds %s; it must be true or false", describe(v))
	}
	return false, false
}

// oldest and nextDue read a span from either of two columns. One that points the wrong way, such as an
// oldest job that is due in the future, says that there is none.
func (r *row) oldest() time.Duration {
	if at, ok := r.time("oldest_ready_at"); ok {
		return r.decoder.opts.Now.Sub(at)
	}
	return seconds(r.number("oldest_seconds"))
}

func (r *row) nextDue() time.Duration {
	if at, ok := r.time("next_due_at"); ok {
		return at.Sub(r.decoder.opts.Now)
	}
	return seconds(r.number("next_due_seconds"))
}

// textTimes are the forms in which SQLite's own functions and its Go drivers write a time.
var textTimes = [...]string{
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
}

func (r *row) time(column string) (at time.Time, ok bool) {
	switch v := r.value(column).(type) {
	case nil:
		return time.Time{}, false
	case time.Time:
		return v, true
	case string:
		if r.decoder.opts.TextTimes {
			for _, form := range textTimes {
				if at, err := time.Parse(form, v); err == nil {
					return at, true
				}
			}
		}
		r.failf(column, "holds %s; it must be a time", describe(v))
	default:
		r.failf(column, "holds %s; it must be a time", describe(v))
	}
	return time.Time{}, false
}

// pool reads the workers; nil when the query says nothing of them.
func (r *row) pool() *driver.Pool {
	if r.value("workers") == nil && r.value("capacity") == nil {
		return nil
	}
	return &driver.Pool{Workers: r.count("workers"), Capacity: r.count("capacity")}
}

// seconds turns a finite number of seconds into a Duration, rounded to the nanosecond so that a lookahead
// comes back as it went out, and at most what a Duration holds.
func seconds(s float64) time.Duration {
	ns := math.Round(s * float64(time.Second))
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

// describe names a value of the wrong type for an error message.
func describe(v any) string {
	switch v := v.(type) {
	case Unfit:
		return string(v)
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case []byte:
		return fmt.Sprintf("%d bytes of binary data", len(v))
	case bool:
		return fmt.Sprintf("the truth value %t", v)
	case time.Time:
		return "a time"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	}
	return fmt.Sprintf("a value of type %T", v)
}
