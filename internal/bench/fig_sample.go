package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/river"
)

// countLimit is leadsman's default bound of a count.
const countLimit = 100_000

// boundedCount and exists are what one would write by hand for the same questions.
const (
	boundedCount = `SELECT count(*) FROM (SELECT FROM river_job
		WHERE state = 'available' AND queue = $1 AND scheduled_at <= now() LIMIT $2) AS bounded`
	exists = `SELECT EXISTS (SELECT FROM river_job WHERE state = 'available' AND queue = $1)`
)

// measureSample is one read of a queue with ever more ready jobs, through the engine and the preset: the whole
// sample, and the one that a waiting stream makes, which stops at the first job. The tables are in databases of
// their own and read in turns. The limits are prepared statements on one connection.
func measureSample(b *bed) []row {
	sizes := pick(b, []int{10_000, 100_000, 1_000_000, 5_000_000}, []int{10_000, 100_000, 200_000})
	depths := make([]*depth, len(sizes))
	for i, n := range sizes {
		depths[i] = newDepth(b, n)
	}
	const warmUp = 3
	rounds := pick(b, 30, 5)
	for i := range warmUp + rounds {
		for _, d := range depths {
			d.full.round(b, i >= warmUp)
		}
	}
	largest := depths[len(depths)-1]
	for i := range warmUp + 10*rounds {
		largest.activity.round(b, i >= warmUp)
	}
	var rows []row
	for _, d := range depths {
		rows = append(rows, row{
			what: fmt.Sprintf("one sample, %s ready jobs", inWords(d.jobs)), ours: took(median(d.full.ours)),
			limit: took(median(d.full.limit)), against: "a bounded count alone, prepared",
		})
	}
	reference := depths[1] // a queue as long as the bound
	return append(rows,
		row{
			what: fmt.Sprintf("one sample, %s ready jobs", inWords(largest.jobs)), ours: took(median(largest.full.ours)),
			limit:   took(median(reference.full.ours)),
			against: fmt.Sprintf("leadsman's own at %s", inWords(reference.jobs)), target: ratioAtMost(2),
		},
		row{
			what: fmt.Sprintf("activity read, %s ready jobs, p50", inWords(largest.jobs)), ours: took(median(largest.activity.ours)),
			limit: took(median(largest.activity.limit)), against: "SELECT EXISTS, prepared", target: atMost(took(time.Millisecond), "1 ms"),
		})
}

func inWords(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// A depth is a table with so many ready jobs.
type depth struct {
	jobs           int
	full, activity duel
}

func newDepth(b *bed, jobs int) *depth {
	url := b.cluster().Database(b)
	fillQueue(b, url, jobs)
	engine, err := postgres.Open(postgres.Config{
		URL: func() (string, error) { return url, nil }, SQL: *river.Preset.Postgres, MaxConns: 1,
	})
	b.must(err)
	b.Cleanup(func() { _ = engine.Close() }) // it was only read
	conn, err := pgx.Connect(b.ctx, url)
	b.must(err)
	b.Cleanup(func() { _ = conn.Close(b.ctx) }) // likewise

	read := func(limit int64, activity bool) func() error {
		return func() error {
			reading, err := engine.Read(b.ctx, driver.Request{Wants: []driver.Want{{Queue: wakeQueue}}, Limit: limit, Activity: activity})
			if err == nil && reading.Queues[0].Ready != min(limit, int64(jobs)) {
				err = fmt.Errorf("%d of %d jobs were counted with limit %d", reading.Queues[0].Ready, jobs, limit)
			}
			return err
		}
	}
	return &depth{
		jobs: jobs,
		full: duel{doOurs: read(countLimit, false), doLimit: func() error {
			var n int
			return conn.QueryRow(b.ctx, boundedCount, wakeQueue, countLimit+1).Scan(&n)
		}},
		activity: duel{doOurs: read(1, true), doLimit: func() error {
			var found bool
			return conn.QueryRow(b.ctx, exists, wakeQueue).Scan(&found)
		}},
	}
}

// A duel is an operation of ours and its limit, measured in turns.
type duel struct {
	doOurs, doLimit func() error
	ours, limit     []time.Duration
}

func (d *duel) round(b *bed, counts bool) {
	start := time.Now()
	b.must(d.doOurs())
	between := time.Now()
	b.must(d.doLimit())
	if counts {
		d.ours = append(d.ours, between.Sub(start))
		d.limit = append(d.limit, time.Since(between))
	}
}
