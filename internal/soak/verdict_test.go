package soak

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ramp makes n values that go from one value to another, with some noise about them.
func ramp(n int, from, to, noise float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, n)
	for i := range values {
		values[i] = from + (to-from)*float64(i)/float64(n-1) + noise*(2*r.Float64()-1)
	}
	return values
}

func TestJudgeTellsGrowthFromNoise(t *testing.T) {
	memory := Bound{Ratio: 1.25, Slack: 1}
	steps := append(ramp(50, 10, 100, 0), ramp(150, 100, 100, 0)...)
	for name, c := range map[string]struct {
		bound  Bound
		values []float64
		flat   bool
	}{
		"constant":                        {memory, ramp(200, 100, 100, 0), true},
		"noise":                           {memory, ramp(200, 100, 100, 40), true},
		"a sawtooth":                      {memory, saw(200, 100, 200, 7), true},
		"what fills in the first quarter": {memory, steps, true},
		"what shrinks":                    {memory, ramp(200, 200, 100, 5), true},
		"a leak":                          {memory, ramp(200, 100, 300, 0), false},
		"a leak in noise":                 {memory, ramp(200, 100, 300, 40), false},
		"a leak below a sawtooth":         {memory, sum(saw(200, 100, 200, 7), ramp(200, 0, 300, 0)), false},
		"a step at the end":               {memory, append(ramp(140, 100, 100, 0), ramp(60, 200, 200, 0)...), false},
		"few goroutines more":             {Bound{Ratio: 1, Slack: 5}, ramp(200, 50, 53, 0), true},
		"many goroutines more":            {Bound{Ratio: 1, Slack: 5}, ramp(200, 50, 80, 0), false},
		"something out of nothing":        {Bound{Ratio: 1.25}, ramp(200, 0, 10, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts, err := Judge([]Series{{Name: name, Bound: c.bound, Values: c.values}}, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if v := verdicts[0]; v.Flat != c.flat {
				t.Errorf("flat = %v, want %v: from %.1f to %.1f", v.Flat, c.flat, v.Early, v.Late)
			}
		})
	}
}

// saw makes n values that climb from low to high again and again, as a heap does between collections.
func saw(n int, low, high float64, period int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = low + (high-low)*float64(i%period)/float64(period)
	}
	return values
}

func sum(a, b []float64) []float64 {
	values := make([]float64, len(a))
	for i := range values {
		values[i] = a[i] + b[i]
	}
	return values
}

func TestJudgeSaysByHowMuchPerHour(t *testing.T) {
	verdicts, err := Judge([]Series{{Values: ramp(1001, 0, 1000, 0)}}, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdicts[0].PerHour; got < 495 || got > 505 {
		t.Errorf("1,000 in two hours are %.1f per hour", got)
	}
}

func TestJudgeRefusesToJudgeByFewValues(t *testing.T) {
	long, short := Series{Name: "long", Values: ramp(100, 1, 1, 0)}, Series{Name: "short", Values: ramp(31, 1, 1, 0)}
	if _, err := Judge([]Series{long, short}, time.Minute); err == nil || !strings.Contains(err.Error(), "short: 31 values") {
		t.Errorf("err = %v, want one that names the short series", err)
	}
}

func TestTableNamesWhatGrows(t *testing.T) {
	verdicts, err := Judge([]Series{
		{Name: "heap", Unit: Bytes, Bound: Bound{Ratio: 1.25}, Values: ramp(80, 64<<20, 64<<20, 0)},
		{Name: "goroutines", Bound: Bound{Ratio: 1}, Values: ramp(80, 0, 800, 0)},
	}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := `            second quarter  last quarter  ratio  per hour         from 0
heap        64.0 MiB        64.0 MiB      1.00×  +0.0 MiB  flat   ████████████████████████████████████████
goroutines  294             699           2.38×  +810      GROWS  ▁▁▁▁▁▁▂▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇█
`
	if diff := cmp.Diff(want, Table(verdicts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSparkOfNothingIsNothing(t *testing.T) {
	if got := Spark(nil, 40); got != "" {
		t.Errorf("no values: %q", got)
	}
	if got := Spark([]float64{0, 0, 0}, 40); got != "▁▁▁" {
		t.Errorf("zeros: %q", got)
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	drawn := SVG([]Series{{Name: "a < b & c", Values: ramp(1000, 0, 5, 0)}, {Name: "empty"}}, time.Hour)
	decoder, lines := xml.NewDecoder(strings.NewReader(drawn)), 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("%d lines are drawn, want that of the series that has values", lines)
	}
}
