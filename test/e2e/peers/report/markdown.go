package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Markdown shows all of it but the times of each job.
func (r *Report) Markdown() string {
	var b strings.Builder
	for _, line := range r.Head {
		b.WriteString(line + "\n\n")
	}
	for _, t := range []table{r.goals(), r.wakes(), r.parts(), r.idle()} {
		if len(t.rows) > 0 {
			t.write(&b)
			b.WriteString("\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// A table's columns are numbers from one on.
type table struct {
	head    []string
	numbers int // index of the first column of numbers
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write pads cells, so that a table is one in a terminal as well.
func (t *table) write(b *strings.Builder) {
	widths := slices.Repeat([]int{3}, len(t.head)) // what a rule has at least
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(t.head))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
		if i >= t.numbers {
			rule[i] = rule[i][1:] + ":"
		}
	}
	for _, row := range append([][]string{t.head, rule}, t.rows...) {
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i >= t.numbers {
				b.WriteString("| " + gap + cell + " ")
			} else {
				b.WriteString("| " + cell + gap + " ")
			}
		}
		b.WriteString("|\n")
	}
}

func (r *Report) goals() table {
	t := table{head: []string{"side by side", "ratio", "goal", "met"}, numbers: 1}
	for _, g := range r.Goals {
		t.add(g.What, times(g.Of, g.Over), g.target(), g.verdict())
	}
	return t
}

func (r *Report) wakes() table {
	t := table{head: []string{"from a job to spec.replicas = 1", "p50, of the floor's", "p50", "p99", "max", "n"}, numbers: 1}
	for _, w := range r.Wakes {
		t.add(w.Name, times(w.Median(), r.Wakes[0].Median()), took(w.Median()), took(w.quantile(0.99)), took(w.quantile(1)),
			strconv.Itoa(len(w.Took)))
	}
	return t
}

func (r *Report) parts() table {
	t := table{head: []string{"of which, to the true at KEDA's client", "p50", "p99", "n"}, numbers: 1}
	for _, w := range r.Parts {
		t.add(w.Name, took(w.Median()), took(w.quantile(0.99)), strconv.Itoa(len(w.Took)))
	}
	return t
}

// idle has the ratio before each pair of figures for the same number of objects.
func (r *Report) idle() table {
	t := table{head: []string{
		"idle ScaledObjects", "trigger", "connections", "statements",
		"CPU: database", "CPU: KEDA's operator", "CPU: leadsman", "ready after",
	}, numbers: 2}
	for i, cost := range r.Idle {
		if i+1 < len(r.Idle) && r.Idle[i+1].Objects == cost.Objects {
			t.rows = append(t.rows, ratios(&r.Idle[i+1], &cost))
		}
		scaler := ""
		if cost.Scaler > 0 {
			scaler = percent(cost.Scaler)
		}
		t.add(strconv.Itoa(cost.Objects), cost.Name, strconv.Itoa(cost.Connections), fmt.Sprintf("%.2f /s", cost.Statements),
			percent(cost.Database), percent(cost.Operator), scaler, took(cost.Ready.Seconds()))
	}
	return t
}

func ratios(peer, ours *Idle) []string {
	return []string{
		strconv.Itoa(ours.Objects), peer.Name + " ÷ " + ours.Name,
		times(float64(peer.Connections), float64(ours.Connections)), times(peer.Statements, ours.Statements),
		times(peer.Database, ours.Database), times(peer.Operator, ours.Operator), "", "",
	}
}
