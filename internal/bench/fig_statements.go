package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// pollRate is how many polls per second there are in all, however many ScaledObjects they come from: what 10,000
// objects at KEDA's 30 s make. One object alone is thereby polled far more often than KEDA does, so that in each
// case somebody always asks and the samples are as frequent as they ever get.
const pollRate = 10_000 / 30.0

// measureStatements is how many statements per second reach the database while more and more ScaledObjects are
// polled. The limit is a single object. Samples may be 100 ms old here instead of 1 s, because with one sample per
// second a short window counts too few statements to tell a tenth more.
func measureStatements(b *bed) []row {
	url := b.cluster().Database(b)
	fillQueues(b, url, 10_000)
	b.exec(b.cluster().SuperuserURL(), "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	one, _ := statementRate(b, url, 1, 1)
	var rows []row
	for _, variant := range []struct {
		what   string
		queues int
		counts []int
	}{
		{"100 queues", 100, pick(b, []int{100, 1000, 10_000}, []int{1000})},
		{"a queue each", 10_000, pick(b, []int{1000, 10_000}, []int{1000})},
	} {
		for _, n := range variant.counts {
			rate, failed := statementRate(b, url, n, min(n, variant.queues))
			r := row{
				what: fmt.Sprintf("statements, %d ScaledObjects, %s", n, variant.what),
				ours: perSecond(rate), limit: perSecond(one), against: "1 ScaledObject",
			}
			if n == 10_000 {
				r.target = ratioAtMost(1.1)
			}
			if failed > 0 {
				r.against += fmt.Sprintf("; %.1f %% of the polls failed", failed*100)
				r.target = unmet(r.target)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// statementRate polls n objects over a number of queues and returns the database's statements per second, and the
// share of the polls that failed. All objects have been polled before: their first polls, which all want something
// new, are not measured.
func statementRate(b *bed, url string, n, queues int) (rate, failed float64) {
	b = b.sub()
	defer b.clean()
	c := b.dial(b.leadsman(url, map[string]any{"maxAge": "100ms"}))
	triggers, err := c.discover(b.ctx, c.objects(n, over(queues)))
	b.must(err)
	_ = c.pollAll(b.ctx, triggers, n) // what fails here fails below too
	poll := func(lasts time.Duration) float64 {
		polls, failed, err := c.pollSteadily(b.ctx, triggers, pollRate, lasts)
		b.must(err)
		return float64(failed) / float64(polls)
	}
	poll(pick(b, time.Second, 200*time.Millisecond)) // into the steady state
	window := pick(b, 5*time.Second, time.Second)
	if queues > 1000 && !b.opts.quick {
		window = 12 * time.Second // one read of so many queues takes a second or so, and there is ten times as much rest
	}
	before, start := b.statements(url), time.Now()
	failed = poll(window)
	return (b.statements(url) - before) / time.Since(start).Seconds(), failed
}

// statements is how many statements a database has seen.
func (b *bed) statements(url string) (calls float64) {
	config, err := pgx.ParseConfig(url)
	b.must(err)
	b.withConn(b.cluster().SuperuserURL(), func(conn *pgx.Conn) {
		b.must(conn.QueryRow(b.ctx, `SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements
			WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, config.Database).Scan(&calls))
	})
	return calls
}
