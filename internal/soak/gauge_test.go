package soak

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/redis/rueidis"
)

// A reading is what the server takes at one instant.
type reading struct {
	heap        float64 // bytes that the last collection found in use
	rss         float64 // bytes
	goroutines  float64
	files       float64 // open descriptors
	connections float64 // to both databases
	series      float64 // on /metrics
	triggers    float64 // remembered
	streams     float64 // open
}

// A gauge reads them.
type gauge struct {
	stage *stage
	pool  *pgxpool.Pool  // the owner's, to count the server's
	redis rueidis.Client // likewise
	all   []reading
}

// read takes one reading.
func (g *gauge) read(ctx context.Context) (reading, error) {
	families, err := g.scrape(ctx)
	if err != nil {
		return reading{}, err
	}
	r := reading{
		// The server collects anew at twice what was found in use (GOGC is 100), so that this tells it between two
		// collections as well, whatever garbage there is.
		heap:       total(families["go_memstats_next_gc_bytes"]) / 2,
		rss:        total(families["process_resident_memory_bytes"]),
		goroutines: total(families["go_goroutines"]),
		files:      total(families["process_open_fds"]),
		triggers:   total(families["leadsman_triggers"]),
		streams:    total(families["leadsman_streams"]),
	}
	for _, family := range families {
		r.series += float64(len(family.GetMetric()))
	}
	r.connections, err = g.connections(ctx)
	return r, err
}

// scrape asks as Prometheus does.
func (g *gauge) scrape(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	body, err := g.stage.get(ctx, "/metrics", g.stage.tokens.people)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(body))
}

// total adds up the gauges of a family.
func total(family *dto.MetricFamily) float64 {
	sum := 0.0
	for _, m := range family.GetMetric() {
		sum += m.GetGauge().GetValue()
	}
	return sum
}

// connections counts the server's own.
func (g *gauge) connections(ctx context.Context) (float64, error) {
	var n float64
	err := g.pool.QueryRow(ctx, "SELECT count(*)::float8 FROM pg_stat_activity WHERE usename = $1", reader).Scan(&n)
	if err != nil {
		return 0, err
	}
	client := g.redis
	list, err := client.Do(ctx, client.B().ClientList().Build()).ToString()
	if err != nil {
		return 0, err
	}
	return n + float64(strings.Count(list, " name=leadsman ")), nil
}

// get asks over HTTP and wants 200.
func (s *stage) get(ctx context.Context, path, token string) (string, error) {
	code, body, err := s.request(ctx, http.MethodGet, path, token)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %d: %.200s", path, code, body)
	}
	return body, err
}

// request asks over HTTP; token is "" for none.
func (s *stage) request(ctx context.Context, method, path, token string) (code int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.http+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.web.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// series are the readings for Judge.
func (g *gauge) series() []Series {
	memory := func(slack float64) Bound { return Bound{Ratio: 1.25, Slack: slack * (1 << 20)} }
	pick := func(of func(*reading) float64) []float64 {
		values := make([]float64, len(g.all))
		for i := range g.all {
			values[i] = of(&g.all[i])
		}
		return values
	}
	return []Series{
		{"heap after collection", Bytes, memory(2), pick(func(r *reading) float64 { return r.heap })},
		{"resident memory", Bytes, memory(4), pick(func(r *reading) float64 { return r.rss })},
		// These go up and down with the objects that happen to be there, of each of which there are some ten.
		{"goroutines", Count, Bound{1.1, 50}, pick(func(r *reading) float64 { return r.goroutines })},
		{"open files", Count, Bound{1.1, 10}, pick(func(r *reading) float64 { return r.files })},
		{"database connections", Count, Bound{1, 2}, pick(func(r *reading) float64 { return r.connections })},
		{"series on /metrics", Count, Bound{1.05, 20}, pick(func(r *reading) float64 { return r.series })},
		{"triggers remembered", Count, Bound{1.05, 20}, pick(func(r *reading) float64 { return r.triggers })},
	}
}

// follow reads at even intervals until ctx is done, and says now and then how things stand. A reading that cannot be had
// is left out; the error says that there are too many of those.
func (g *gauge) follow(ctx context.Context, every time.Duration, say func(elapsed time.Duration, r *reading)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	missed := 0
	for start := time.Now(); ; {
		select {
		case <-ctx.Done():
			if missed > len(g.all)/10 {
				return fmt.Errorf("%d readings were had and %d were not, the last because of: %w", len(g.all), missed, last)
			}
			return nil
		case <-tick.C:
		}
		r, err := g.read(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			missed, last = missed+1, err
		default:
			g.all = append(g.all, r)
			say(time.Since(start), &r)
		}
	}
}
