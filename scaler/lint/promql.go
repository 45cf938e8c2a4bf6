package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// A readPromQL is what a query of Prometheus asks leadsman's series.
type readPromQL struct {
	metric query.Metric
	known  bool   // metric is what the query computes
	text   string // for people: outstanding of queue=~"mail-.*" in source="mail"
}

// checkPromQL looks at a query. With scales set, an autoscaler follows its value; otherwise it is a rule for whatever purpose,
// of which only the names are looked at.
func (l *Linter) checkPromQL(o *object, path, text string, scales bool) readPromQL {
	expr, err := promQL().ParseExpr(text)
	if err != nil {
		o.fail(path, "Prometheus refuses it: "+parserWords(err), "correct it")
		return readPromQL{}
	}
	before := len(o.findings)
	found := selectorsOf(expr)
	good := true
	for i := range found {
		good = l.checkSelector(o, path, found[i].selector) && good
	}
	if !scales || !good || len(found) == 0 {
		return readPromQL{}
	}
	o.checkElements(path, expr)
	o.checkZero(path, expr)
	for i := range found {
		o.checkTogether(path, &found[i])
	}
	l.checkPicks(o, path, found)
	out := readPromQL{metric: metricOf(&found[0].selector)}
	for i := range found {
		if metricOf(&found[i].selector) != out.metric {
			return readPromQL{}
		}
	}
	out.known = out.metric != "" && len(o.findings) == before
	out.text = string(out.metric) + described(&found[0].selector)
	return out
}

// described says what a selector picks.
func described(s *selector) string {
	var text strings.Builder
	for _, label := range []string{labelQueue, labelSource} {
		for i, m := range s.on(label) {
			switch {
			case i > 0:
				text.WriteString(" and ")
			case label == labelQueue:
				text.WriteString(" of ")
			default:
				text.WriteString(" in ")
			}
			text.WriteString(clip(m.String()))
		}
	}
	return text.String()
}

// A found selector stands somewhere in a query.
type foundSelector struct {
	selector

	above []parser.Node // from the whole query down
}

// selectorsOf finds the selectors of leadsman's series.
func selectorsOf(expr parser.Expr) []foundSelector {
	var all []foundSelector
	parser.Inspect(expr, func(node parser.Node, above []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			if s := newSelector(v.LabelMatchers); strings.HasPrefix(s.name, seriesPrefix) {
				all = append(all, foundSelector{s, slices.Clone(above)})
			}
		}
		return nil
	})
	return all
}

// checkElements finds a query whose answer is not the one element that KEDA takes.
func (o *object) checkElements(path string, expr parser.Expr) {
	switch expr.Type() {
	case parser.ValueTypeVector:
		if manifold(expr) {
			o.fail(path, "it may have several elements, which is an error to KEDA", "put sum(…) around it, or max(…) for ages")
		}
	case parser.ValueTypeScalar:
		o.fail(path, "it is a scalar, whose answer KEDA cannot read", "put vector(…) around it")
	default:
		o.fail(path, fmt.Sprintf("it is a %s, and KEDA takes one element of a vector", parser.DocumentedType(expr.Type())),
			"ask for the newest value: leave the range out, or put max_over_time(…) around it")
	}
}

// manifold tells whether an expression may well have several elements: a selector, or a grouping. What is not known to have
// them is taken for one.
func manifold(expr parser.Expr) bool {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return true
	case *parser.AggregateExpr:
		return len(e.Grouping) > 0 || e.Without || e.Op == parser.TOPK || e.Op == parser.BOTTOMK
	case *parser.ParenExpr:
		return manifold(e.Expr)
	case *parser.UnaryExpr:
		return manifold(e.Expr)
	case *parser.BinaryExpr:
		if e.LHS.Type() != parser.ValueTypeVector {
			return manifold(e.RHS)
		}
		return manifold(e.LHS)
	case *parser.Call:
		if e.Func.Name == "vector" || strings.HasPrefix(e.Func.Name, "absent") {
			return false
		}
		return slices.ContainsFunc(e.Args, func(arg parser.Expr) bool {
			return arg.Type() == parser.ValueTypeVector && manifold(arg)
		})
	default:
		return false
	}
}

// checkZero finds what turns a missing series into a number: "or vector(0)".
func (o *object) checkZero(path string, expr parser.Expr) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if e, ok := node.(*parser.BinaryExpr); ok && e.Op == parser.LOR {
			if call, ok := unwrapped(e.RHS).(*parser.Call); ok && call.Func.Name == "vector" {
				o.warn(path, "while there is no series, as in an outage, it has the value "+clip(call.Args.String())+
					": an empty queue, and the fallback never holds", "leave out or "+clip(call.String()))
			}
		}
		return nil
	})
}

func unwrapped(expr parser.Expr) parser.Expr { //nolint:ireturn // of whatever kind it is
	for {
		inner, ok := expr.(*parser.ParenExpr)
		if !ok {
			return expr
		}
		expr = inner.Expr
	}
}

// checkPicks looks at what is picked of the jobs of several sources and states.
func (l *Linter) checkPicks(o *object, path string, found []foundSelector) {
	for i := range found {
		s := &found[i].selector
		if len(l.Sources) > 1 && len(s.on(labelSource)) == 0 && slices.Contains(series[s.name], labelSource) {
			o.warn(path, s.name+" is picked of every source", `add source="…"`)
		}
		picked := s.picks(labelState, states[seriesJobs])
		if s.name == seriesJobs && len(picked) > 1 && slices.Contains(picked, string(query.MetricScheduled)) {
			o.warn(path, "jobs that are due later are counted with those that are due now", `write state=~"ready|running"`)
		}
	}
}

// The labels by which Prometheus tells the replicas of leadsman apart.
var replicaLabels = []string{"instance", "pod"}

// checkTogether looks at how a selector's series are brought together. Each replica of leadsman tells of every queue: of one
// queue and state the greatest counts, and of these the sum.
func (o *object) checkTogether(path string, s *foundSelector) {
	apart := slices.ContainsFunc(s.matchers, func(m *labels.Matcher) bool {
		return m.Type == labels.MatchEqual && slices.Contains(replicaLabels, m.Name)
	})
	nearest := s.aggregate()
	if nearest == nil {
		return
	}
	const right = "sum(max by (queue, state) (" + seriesJobs + "{…}))"
	switch sums := nearest.Op == parser.SUM || nearest.Op == parser.COUNT; {
	case s.name == seriesOldest && nearest.Op == parser.SUM:
		o.fail(path, "ages are added up", "write max("+seriesOldest+"{…})")
	case sums && !apart && !keepsReplicas(nearest):
		o.fail(path, "each replica of leadsman tells of every queue, and "+nearest.Op.String()+" adds them up", "write "+right)
	case s.name == seriesJobs && nearest.Op == parser.MAX && mixes(nearest, &s.selector):
		o.fail(path, "max takes the greatest number of several queues or states, and not what they come to", "write "+right)
	}
}

// aggregate is the innermost aggregation around a selector; nil for none.
func (s *foundSelector) aggregate() *parser.AggregateExpr {
	for _, node := range slices.Backward(s.above) {
		if a, ok := node.(*parser.AggregateExpr); ok {
			return a
		}
	}
	return nil
}

// keepsReplicas tells whether the replicas of leadsman are still apart after an aggregation.
func keepsReplicas(a *parser.AggregateExpr) bool {
	named := slices.ContainsFunc(a.Grouping, func(label string) bool { return slices.Contains(replicaLabels, label) })
	return named != a.Without
}

// mixes tells whether an aggregation takes several queues or states together.
func mixes(a *parser.AggregateExpr, s *selector) bool {
	together := func(label string) bool { return slices.Contains(a.Grouping, label) == a.Without }
	one := func(label string) bool {
		return slices.ContainsFunc(s.on(label), func(m *labels.Matcher) bool { return len(literals(m)) == 1 })
	}
	return together(labelQueue) && !one(labelQueue) || together(labelState) && len(s.picks(labelState, states[seriesJobs])) > 1
}
