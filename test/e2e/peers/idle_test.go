package peers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/peers/report"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// history is how many jobs that are done there are in the database, as there are in any that is in use.
const history = 10_000

// measureIdle notes in r what more and more ScaledObjects cost while no job comes, each with a queue of its own and polled each
// 30 s, as KEDA does by default: leadsman's first, then as many of KEDA's own.
func measureIdle(t *testing.T, postgres *storagetest.Cluster, r *report.Report) {
	t.Helper()
	counts := pick([]int{1, 100, 500}, []int{1, 5})
	var ours, peers []report.Idle
	t.Run("leadsman", func(t *testing.T) {
		s := newSleepers(t, postgres, "idle-leadsman")
		in := install(t, 1, fmt.Sprintf("sources: {mail: {url: %q, preset: river}}\n", s.url))
		for _, replica := range in.replicas {
			s.scalers = append(s.scalers, replica.PID())
		}
		ours = s.measure("leadsman", counts, func(queue string) kedav1alpha1.ScaleTriggers {
			return kedav1alpha1.ScaleTriggers{Type: "external-push", Metadata: map[string]string{
				"scalerAddress": in.GRPC(), "source": "mail", "queue": queue,
			}}
		})
	})
	t.Run("KEDA's postgresql", func(t *testing.T) {
		peers = newSleepers(t, postgres, "idle-postgresql").measure("KEDA's postgresql", counts, builtinPostgres)
	})
	if len(ours) != len(counts) || len(peers) != len(counts) {
		t.Fatal("not everything could be measured")
	}
	for i := range counts {
		r.Idle = append(r.Idle, ours[i], peers[i])
	}
	last := len(counts) - 1
	r.Goals = append(r.Goals,
		flat("connections", counts[last-1:], float64(ours[last].Connections), float64(ours[last-1].Connections)),
		flat("statements", counts[last-1:], ours[last].Statements, ours[last-1].Statements))
}

func flat(what string, counts []int, more, fewer float64) report.Goal {
	return report.Goal{
		What: fmt.Sprintf("leadsman's %s, %d ScaledObjects / %d", what, counts[1], counts[0]), Of: more, Over: fewer, Limit: 1.1,
	}
}

// Sleepers are workers of one kind for which no job comes.
type sleepers struct {
	t         *testing.T
	namespace string
	watch     *watcher
	url       string    // of their own database
	admin     *pgx.Conn // to another one
	scalers   []int     // leadsman's processes; none for KEDA's own triggers
}

// newSleepers makes a database and a namespace, and starts KEDA's operator anew, so that nothing is left in it of those before.
func newSleepers(t *testing.T, postgres *storagetest.Cluster, namespace string) *sleepers {
	t.Helper()
	s := &sleepers{t: t, namespace: namespace, url: postgres.Database(t)}
	err := kube.RestartOperator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.admin, err = pgx.Connect(t.Context(), postgres.SuperuserURL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.admin.Close(context.WithoutCancel(t.Context())) })
	s.fill()
	newNamespace(t, namespace)
	s.watch = follow(t, namespace)
	return s
}

// fill makes the tables of River, with jobs that are done.
func (s *sleepers) fill() {
	s.t.Helper()
	rig.NewRiverAppOn(s.t, named(s.t, s.url))
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(s.t.Context()))
	if _, err := conn.Exec(s.t.Context(), `INSERT INTO river_job (queue, kind, args, max_attempts, state, finalized_at)
		SELECT 'queue-' || i % 500, 'mail', '{}', 25, 'completed', now() FROM generate_series(1, $1) AS i`, history); err != nil {
		s.t.Fatal(err)
	}
	if _, err := conn.Exec(s.t.Context(), `VACUUM ANALYZE river_job`); err != nil {
		s.t.Fatal(err)
	}
}

// measurer names our own connections, so that they are not counted.
const measurer = "peers"

// named is a database's URL with the name.
func named(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	values := u.Query()
	values.Set("application_name", measurer)
	u.RawQuery = values.Encode()
	return u.String()
}

// measure makes more workers, waits until all is quiet, and measures, for each of the counts.
func (s *sleepers) measure(name string, counts []int, trigger func(queue string) kedav1alpha1.ScaleTriggers) []report.Idle {
	s.t.Helper()
	var all []report.Idle
	var fewer int
	for _, n := range counts {
		cost := report.Idle{Name: name, Objects: n, Ready: s.grow(fewer, n, trigger)}
		s.window(&cost)
		s.t.Logf("%d: %+v", n, cost)
		all = append(all, cost)
		fewer = n
	}
	return all
}

// growth bounds how long KEDA takes with new objects, some twenty of whose requests the apiserver gets in a second.
const growth = 10 * time.Minute

// grow makes workers until there are n, and returns how long KEDA took to have them all at work.
func (s *sleepers) grow(fewer, n int, trigger func(queue string) kedav1alpha1.ScaleTriggers) time.Duration {
	s.t.Helper()
	ctx, cancel := context.WithTimeoutCause(s.t.Context(), growth, errors.New("KEDA takes too long"))
	defer cancel()
	began := time.Now()
	for i := fewer; i < n; i++ {
		queue := fmt.Sprintf("queue-%d", i)
		if err := newWorker(ctx, s.namespace, queue, s.url, seldom(), trigger(queue)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.watch.awaitAll(ctx, n, func(now sight) bool { return now.ready && now.polled }); err != nil {
		s.t.Fatal(err)
	}
	took := time.Since(began)
	s.t.Logf("%d ready and polled after %v", n, took.Round(time.Millisecond))
	if err := s.watch.awaitAll(ctx, n, sight.idle); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%d quiet after %v", n, time.Since(began).Round(time.Millisecond))
	return took
}

// window measures over the pollingInterval, in which each object is polled once.
func (s *sleepers) window(cost *report.Idle) {
	s.t.Helper()
	server := int(s.number(`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)::float8`))
	read := func() [4]float64 {
		return [4]float64{
			s.statements(), processorTime(s.t, processTree(s.t, server)...), processorTime(s.t, kube.OperatorPID()),
			processorTime(s.t, s.scalers...),
		}
	}
	before, began := read(), time.Now()
	if err := pause(s.t.Context(), seldom()); err != nil {
		s.t.Fatal(err)
	}
	after, lasted := read(), time.Since(began).Seconds()
	for i, figure := range []*float64{&cost.Statements, &cost.Database, &cost.Operator, &cost.Scaler} {
		*figure = (after[i] - before[i]) / lasted
	}
	cost.Connections = int(s.number(`SELECT count(*)::float8 FROM pg_stat_activity
		WHERE datname = $1 AND backend_type = 'client backend' AND application_name <> $2`, s.database(), measurer))
}

// statements is how many the database has seen.
func (s *sleepers) statements() float64 {
	s.t.Helper()
	return s.number(`SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`, s.database())
}

func (s *sleepers) database() string {
	s.t.Helper()
	config, err := pgx.ParseConfig(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	return config.Database
}

func (s *sleepers) number(query string, args ...any) (n float64) {
	s.t.Helper()
	if err := s.admin.QueryRow(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}
