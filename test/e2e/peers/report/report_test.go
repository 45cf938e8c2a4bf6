package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/test/e2e/peers/report"
)

// milliseconds are 1 to n times a number of them.
func milliseconds(each, n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration((i*7%n+1)*each) * time.Millisecond // in no order
	}
	return all
}

func example() *report.Report {
	return &report.Report{
		Head: []string{"A machine, by a command."},
		Goals: []report.Goal{
			{What: "ours / floor", Of: 5, Over: 4, Limit: 1.5},
			{What: "theirs / ours", Of: 48, Over: 2, Limit: 25, AtLeast: true},
			{What: "flat", Of: 4, Over: 4, Limit: 1},
			{What: "more", Of: 4, Over: 2, Limit: 1},
			{What: "none", Limit: 1},
		},
		Wakes: []report.Way{
			{Name: "floor", Took: milliseconds(1, 20), Kind: report.Floor},
			{Name: "ours", Took: milliseconds(2, 100), Kind: report.Ours},
			{Name: "theirs", Took: milliseconds(250, 8), Kind: report.Peer},
		},
		Parts: []report.Way{{Name: "ours", Took: []time.Duration{900 * time.Microsecond}}},
		Idle: []report.Idle{
			{Name: "ours", Objects: 500, Connections: 4, Statements: 2, Database: 0.01, Operator: 0.02, Scaler: 0.005, Ready: 61234 * time.Millisecond},
			{Name: "theirs", Objects: 500, Connections: 500, Statements: 16.67, Database: 0.05, Operator: 0.03, Ready: time.Minute},
		},
	}
}

func TestMarkdownHasRatiosBeforeFigures(t *testing.T) {
	want := strings.TrimPrefix(`
A machine, by a command.

| side by side  | ratio |   goal |   met |
| ------------- | ----: | -----: | ----: |
| ours / floor  | 1.25× | ≤ 1.5× |    ok |
| theirs / ours |   24× |  ≥ 25× | short |
| flat          | 1.00× |   ≤ 1× |    ok |
| more          | 2.00× |   ≤ 1× | short |
| none          |       |   ≤ 1× | short |

| from a job to spec.replicas = 1 | p50, of the floor's |     p50 |     p99 |     max |   n |
| ------------------------------- | ------------------: | ------: | ------: | ------: | --: |
| floor                           |               1.00× | 10.0 ms | 20.0 ms | 20.0 ms |  20 |
| ours                            |                 10× |  100 ms |  198 ms |  200 ms | 100 |
| theirs                          |                100× |   1.0 s |   2.0 s |   2.0 s |   8 |

| of which, to the true at KEDA's client |     p50 |     p99 |   n |
| -------------------------------------- | ------: | ------: | --: |
| ours                                   | 0.90 ms | 0.90 ms |   1 |

| idle ScaledObjects | trigger       | connections | statements | CPU: database | CPU: KEDA's operator | CPU: leadsman | ready after |
| ------------------ | ------------- | ----------: | ---------: | ------------: | -------------------: | ------------: | ----------: |
| 500                | theirs ÷ ours |        125× |      8.34× |         5.00× |                1.50× |               |             |
| 500                | ours          |           4 |    2.00 /s |        1.00 % |               2.00 % |        0.50 % |      61.2 s |
| 500                | theirs        |         500 |   16.67 /s |        5.00 % |               3.00 % |               |      60.0 s |
`, "\n")
	got := example().Markdown()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Markdown (-want +got):\n%s", diff)
	}
}

// What is drawn is looked at by people; that it can be drawn, and has a point for each job, is seen here.
func TestPlotHasAPointForEachJob(t *testing.T) {
	r := example()
	var svg bytes.Buffer
	if err := r.Plot(&svg); err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, w := range r.Wakes {
		jobs += len(w.Took)
	}
	paths := map[string]int{}
	for decoder := xml.NewDecoder(&svg); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			paths[start.Name.Local]++
		}
	}
	if paths["path"] < jobs {
		t.Errorf("elements of the SVG = %v, want a path for each of %d jobs", paths, jobs)
	}
}
