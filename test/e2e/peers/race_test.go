package peers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/peers/report"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// Rounds of each contender. Those that wait up to 30 s for a poll, and as long for the next that finds nothing, run with several
// workers each at the same time.
const (
	rounds       = 75
	slowWorkers  = 6
	roundsOfSlow = 5
)

// measureRace has the contenders enqueue in turns, and notes in r what that leads to.
func measureRace(t *testing.T, postgres *storagetest.Cluster, r *report.Report) {
	t.Helper()
	f := newField(t, postgres)
	bare, ours := &rig.Server{GRPC: f.bare.addr}, f.leadsman.replicas[0]
	floor, floorPart := f.addPush(contender{Way: way(report.Floor, "bare push"), queue: "bare", jobs: pushed{f.bare}}, bare, nil)
	listen, listenPart := f.addPush(contender{Way: way(report.Floor, "bare LISTEN, bare push"), queue: "listen", jobs: f.river}, bare, nil)
	mail, mailPart := f.addPush(contender{Way: way(report.Ours, "leadsman, PostgreSQL"), queue: "mail", jobs: f.river},
		ours, rig.Metadata{"source": "mail"})
	cache, cachePart := f.addPush(contender{Way: way(report.Ours, "leadsman, Redis"), queue: "cache", jobs: f.asynq},
		ours, rig.Metadata{"source": "cache"})
	const http, sql, list = "http", "postgresql", "redis"
	asked := f.add(&contender{Way: way(report.Ours, each("leadsman, metrics-api", often)), queue: http, every: often, jobs: f.river},
		often, f.overHTTP(http))
	counted := f.add(&contender{Way: way(report.Peer, each("KEDA's postgresql", often)), queue: sql, every: often, jobs: f.river},
		often, builtinPostgres(sql))
	measured := f.add(&contender{Way: way(report.Peer, each("KEDA's redis", often)), queue: list, every: often, jobs: f.asynq},
		often, f.builtinRedis(list))
	fast := f.all
	slow := f.addSlow()

	f.run(fast, slow)
	r.Wakes = merged(append([]*contender{floor, listen, mail, cache, asked, counted, measured}, slow...))
	r.Parts = merged([]*contender{floorPart, listenPart, mailPart, cachePart})
	r.Goals = append(r.Goals,
		atMost("leadsman, PostgreSQL / bare push, p50", mail, floor, 1.5),
		atMost("leadsman, Redis / bare push, p50", cache, floor, 1.5),
		atLeast("KEDA's postgresql each 1 s / leadsman, PostgreSQL, p50", counted, mail, 25),
		atLeast("KEDA's redis each 1 s / leadsman, Redis, p50", measured, cache, 25),
	)
}

// addSlow adds KEDA's own triggers with its default pollingInterval.
func (f *field) addSlow() []*contender {
	f.t.Helper()
	seldom := seldom()
	var slow []*contender
	for i := range pick(slowWorkers, 1) {
		sql, list := fmt.Sprintf("postgresql-%d", i), fmt.Sprintf("redis-%d", i)
		slow = append(slow,
			f.add(&contender{Way: way(report.Peer, each("KEDA's postgresql", seldom)), queue: sql, every: seldom, jobs: f.river},
				seldom, builtinPostgres(sql)),
			f.add(&contender{Way: way(report.Peer, each("KEDA's redis", seldom)), queue: list, every: seldom, jobs: f.asynq},
				seldom, f.builtinRedis(list)))
	}
	return slow
}

// run has the fast contenders run in turns, in another order each time, and all of the slow ones at once beside them: one of
// those wakes each few seconds.
func (f *field) run(fast, slow []*contender) {
	f.t.Helper()
	ready := func(s sight) bool { return s.ready && s.polled }
	if err := f.watch.awaitAll(f.t.Context(), countWorkers(f.all), ready); err != nil {
		f.t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(f.t.Context())
	for _, c := range slow {
		group.Go(func() error { return c.rounds(ctx, pick(roundsOfSlow, 1)) })
	}
	group.Go(func() error { return f.turns(ctx, fast, pick(rounds, 3)) })
	if err := group.Wait(); err != nil {
		f.t.Fatal(err)
	}
}

func countWorkers(of []*contender) (n int) {
	for _, c := range of {
		if _, ok := c.clock.(*worker); ok {
			n++
		}
	}
	return n
}

func (c *contender) rounds(ctx context.Context, n int) error {
	for range n {
		if err := c.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) turns(ctx context.Context, of []*contender, n int) error {
	for i := range n {
		for _, next := range rand.Perm(len(of)) {
			if err := of[next].round(ctx); err != nil {
				return err
			}
		}
		if (i+1)%pick(10, 1) == 0 {
			f.t.Logf("%d of %d rounds", i+1, n)
		}
	}
	return nil
}

// merged are the ways of contenders; those of one name are one.
func merged(of []*contender) []report.Way {
	var ways []report.Way
	at := map[string]int{}
	for _, c := range of {
		i, known := at[c.Name]
		if !known {
			i = len(ways)
			at[c.Name] = i
			ways = append(ways, report.Way{Name: c.Name, Kind: c.Kind})
		}
		ways[i].Took = append(ways[i].Took, c.Took...)
	}
	return ways
}

func atMost(what string, of, over *contender, limit float64) report.Goal {
	return report.Goal{What: what, Of: of.Median(), Over: over.Median(), Limit: limit}
}

func atLeast(what string, of, over *contender, limit float64) report.Goal {
	return report.Goal{What: what, Of: of.Median(), Over: over.Median(), Limit: limit, AtLeast: true}
}
