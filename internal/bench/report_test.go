package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() report {
	return report{
		head: []string{"a machine", "measured by: make bench"},
		rows: []row{
			{"wake", took(900 * time.Microsecond), took(300 * time.Microsecond), "bare", ratioAtMost(2)},
			{"calls", perSecond(18_000), perSecond(20_000), "bare", ratioAtLeast(0.9)},
			{"read", took(20 * time.Millisecond), took(-time.Microsecond), "bare", atMost(took(time.Second), "1 s")},
			{"memory", kibibytes(2048), quantity{}, "", target{}},
		},
		failed: []string{"idle could not be measured: no /proc"},
	}
}

func TestTextIsAlignedAndJudged(t *testing.T) {
	const want = `a machine
measured by: make bench

figure      ours     limit  ratio  target         the limit is
wake      900 µs    300 µs  3.00×    ≤ 2×  short  bare
calls   18000 /s  20000 /s  0.90×  ≥ 0.9×  ok     bare
read     20.0 ms     -1 µs          ≤ 1 s  ok     bare
memory   2.0 KiB

idle could not be measured: no /proc
`
	r := sampleReport()
	if diff := cmp.Diff(want, r.text()); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdownIsATable(t *testing.T) {
	const want = `| figure | ours | limit | ratio | target |  | the limit is |
|---|--:|--:|--:|--:|---|---|
| wake | 900 µs | 300 µs | 3.00× | ≤ 2× | short | bare |
| calls | 18000 /s | 20000 /s | 0.90× | ≥ 0.9× | ok | bare |
| read | 20.0 ms | -1 µs |  | ≤ 1 s | ok | bare |
| memory | 2.0 KiB |  |  |  |  |  |

idle could not be measured: no /proc

a machine; measured by: make bench.
`
	r := sampleReport()
	if diff := cmp.Diff(want, r.markdown()); diff != "" {
		t.Error(diff)
	}
}

func TestTargetMissedOtherwiseStaysShort(t *testing.T) {
	r := row{ours: perSecond(1), limit: perSecond(20), target: unmet(ratioAtMost(1.1))}
	if got := r.verdict(); got != "short" {
		t.Errorf("verdict %q, want short", got)
	}
	r.target = unmet(target{})
	if got := r.verdict(); got != "" {
		t.Errorf("verdict %q without a target", got)
	}
}

func TestPercentileIsAMeasuredValue(t *testing.T) {
	values := []int{50, 10, 40, 20, 30}
	for share, want := range map[float64]int{0: 10, 0.5: 30, 0.99: 50, 1: 50} {
		if got := percentile(values, share); got != want {
			t.Errorf("percentile %g = %d, want %d", share, got, want)
		}
	}
	if got := median([]int(nil)); got != 0 {
		t.Errorf("median of nothing = %d", got)
	}
}
