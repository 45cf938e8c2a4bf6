package soak

import (
	"context"
	"flag"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/storage/storagetest"
)

var (
	lasts    = flag.Duration("soak.for", 0, "how long the soak lasts; 0 is a smoke test, which judges nothing")
	rate     = flag.Int("soak.rate", 100, "how many distinct metadata sets there are per second")
	plot     = flag.String("soak.plot", "", "file for a plot, as SVG")
	leadsman = flag.String("soak.leadsman", "", "the program to soak; built anew by default")
)

const (
	smoke   = 12 * time.Second // what a soak of 0 lasts
	objects = 100              // ScaledObjects at any time
	browser = 10               // pages that are open
	// What the server keeps at most: triggers that it remembers, and queues of a source with series of their own.
	mostTriggers = 100_000
	mostQueues   = 1000
	restTimeout  = 2 * time.Minute // for the server to be at rest
	churns       = 8               // callers that share the rate
	// mostLate is how many calls there have to be for one that may be late.
	mostLate = 1000
)

func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }

func TestSoak(t *testing.T) {
	span, triggers, queues := smoke, 0, 0
	if *lasts > 0 {
		span, triggers, queues = *lasts, mostTriggers, mostQueues
	}
	s := newStage(t)
	s.web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(s.web.CloseIdleConnections)
	g := newGauge(t, s)
	before := g.atRest(t, func(*reading) bool { return true })

	count := &tally{}
	g.soak(t, span, count, func(ctx context.Context, c *churner) error { return c.fill(ctx, triggers, queues) })
	t.Logf("in %s: %s", span, count)
	if odd := count.oddities(); odd != "" {
		t.Errorf("what must not be:\n%s", odd)
	}
	if none := count.idle(); len(none) > 0 {
		t.Errorf("the soak has not come to: %v", none)
	}
	if late, calls := count.late.Load(), count.calls.Load(); late > calls/mostLate {
		t.Errorf("%d of %d calls were not answered in time", late, calls)
	}
	if *lasts > 0 {
		g.judge(t, span)
	}

	after := g.atRest(t, func(r *reading) bool {
		return r.streams == 0 && r.goroutines <= before.goroutines+10 && r.files <= before.files+5
	})
	t.Logf("at rest, before and after: goroutines %.0f, %.0f; open files %.0f, %.0f; streams %.0f, %.0f", before.goroutines,
		after.goroutines, before.files, after.files, before.streams, after.streams)
}

func newGauge(t *testing.T, s *stage) *gauge {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &gauge{stage: s, pool: pool, redis: s.redis.Client(t)}
}

// soak has all crews work for so long, once what is to be full is, while the gauge reads. Their connections are closed
// when it returns.
func (g *gauge) soak(t *testing.T, span time.Duration, count *tally, fill func(context.Context, *churner) error) {
	t.Helper()
	s := g.stage
	churn, shared, looking := s.mustConnect(t), s.mustConnect(t), s.mustConnect(t)
	defer closeAll(t, churn, shared, looking)
	c := &churner{stage: s, client: pb.NewExternalScalerClient(churn)}
	if err := fill(t.Context(), c); err != nil {
		t.Fatalf("fill: %v", err)
	}
	k := &keda{stage: s, shared: shared}
	first := "first"
	k.passing.Store(&first)
	p := &people{stage: s, inspector: leadsmanv1.NewInspectorClient(looking)}
	rivers, asynqs := newRiver(t, s, count), newAsynq(t, s, count)
	crews := []crew{
		{"churn", churns, func(ctx context.Context, t *tally) { c.work(ctx, t, churns*time.Second/time.Duration(*rate)) }},
		{"objects", objects, k.work},
		{"rotation", 1, k.rotates},
		{"river", 1, func(ctx context.Context, t *tally) { riverJobs(ctx, t, rivers) }},
		{"asynq", 1, func(ctx context.Context, t *tally) { asynqJobs(ctx, t, asynqs) }},
		{"browsers", browser, p.browses},
		{"requests", 1, p.asks},
		{"scrapes", 1, p.scrapes},
		{"inspection", 1, p.inspects},
	}
	ctx, cancel := lasting(t.Context(), span)
	defer cancel()
	followed := make(chan error, 1)
	go func() { followed <- g.follow(ctx, interval(span), progress(t, count)) }()
	run(ctx, count, crews)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	s.web.CloseIdleConnections()
}

// interval is how often the gauge reads: some 200 times in all, and not too often.
func interval(span time.Duration) time.Duration {
	return min(max(span/200, time.Second), 10*time.Second)
}

// progress prints a line every now and then.
func progress(t *testing.T, count *tally) func(time.Duration, *reading) {
	t.Helper()
	said := time.Time{}
	return func(elapsed time.Duration, r *reading) {
		if time.Since(said) < 15*time.Second {
			return
		}
		said = time.Now()
		t.Logf("%7s  heap %s, resident %s, %.0f goroutines, %.0f files, %.0f connections, %.0f series, %.0f streams, %.0f triggers; %d sets, %d trues",
			elapsed.Round(time.Second), Bytes.Show(r.heap), Bytes.Show(r.rss), r.goroutines, r.files, r.connections, r.series,
			r.streams, r.triggers, count.sets.Load(), count.trues.Load())
	}
}

// judge says what is flat, and fails where something is not.
func (g *gauge) judge(t *testing.T, span time.Duration) {
	t.Helper()
	all := g.series()
	if *plot != "" {
		if err := os.WriteFile(*plot, []byte(SVG(all, span)), 0o644); err != nil {
			t.Error(err)
		}
	}
	verdicts, err := Judge(all, span)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", Table(verdicts))
	for _, v := range verdicts {
		if !v.Flat {
			t.Errorf("%s grows: from %s to %s", v.Series.Name, v.Series.Unit.Show(v.Early), v.Series.Unit.Show(v.Late))
		}
	}
}

// atRest waits until nobody asks any more and the server is as it has to be, and returns what it takes then.
func (g *gauge) atRest(t *testing.T, is func(*reading) bool) reading {
	t.Helper()
	var last reading
	for deadline := time.Now().Add(restTimeout); ; pause(t.Context(), 500*time.Millisecond) {
		r, err := g.read(t.Context())
		g.stage.web.CloseIdleConnections() // so that the next one finds none of its own
		settled := r.goroutines == last.goroutines && r.files == last.files
		if last = r; err == nil && settled && is(&r) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("at rest the server has not become what it was: %+v (%v)", r, err)
		}
	}
}
