package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// What "leadsman manifest" has Prometheus record, prometheus-adapter serve, and an HPA follow.
const (
	recordedName   = "leadsman:scaled_value"
	servedName     = "leadsman_scaled_value"
	labelNamespace = "scaled_namespace"
	labelObject    = "scaled_object"
)

// A value is one that rules record for an HPA.
type recordedValue struct{ namespace, object string }

// checkRules looks at the rules that record what HPAs follow, and returns these; nil where there is none among the documents.
func (l *Linter) checkRules() map[recordedValue]readPromQL {
	var all map[recordedValue]readPromQL
	for _, o := range l.objects {
		if o.Kind != kube.KindPrometheusRule {
			continue
		}
		for i, group := range o.Spec.Groups {
			for j, rule := range group.Rules {
				path := fmt.Sprintf("spec.groups[%d].rules[%d]", i, j)
				expr, _ := rule.Expr.(string)
				if rule.Record != recordedName {
					if strings.Contains(expr, seriesPrefix) {
						l.checkPromQL(o, path+".expr", expr, false)
					}
					continue
				}
				if all == nil {
					all = map[recordedValue]readPromQL{}
				}
				of := recordedValue{rule.Labels[labelNamespace], rule.Labels[labelObject]}
				for _, label := range []string{labelNamespace, labelObject} {
					if rule.Labels[label] == "" {
						o.fail(path+".labels", label+" is missing, and no autoscaler gets the value", "write "+label)
					}
				}
				all[of] = l.checkPromQL(o, path+".expr", expr, true)
			}
		}
	}
	return all
}

// checkHPA looks at an HPA that somebody wrote.
func (l *Linter) checkHPA(o *object, recorded map[recordedValue]readPromQL) {
	if o.Spec.ScaleTargetRef.Name == "" {
		o.fail("spec.scaleTargetRef.name", "is missing", "name the workload that is to be scaled")
	}
	least, most := value(o.Spec.MinReplicas, 1), value(o.Spec.MaxReplicas, 0)
	switch {
	case o.Spec.MaxReplicas == nil:
		o.fail("spec.maxReplicas", "is missing", "say how many replicas there may be")
	case least > most:
		o.fail("spec.minReplicas", fmt.Sprintf("%d is more than maxReplicas, %d", least, most), "raise maxReplicas")
	case least == 0:
		o.warn("spec.minReplicas", "is 0, which an HPA takes only where the cluster's feature gate HPAScaleToZero is on",
			"write 1, or a ScaledObject, which goes to zero in every cluster")
	}
	for i := range o.Spec.Metrics {
		m, path := &o.Spec.Metrics[i], fmt.Sprintf("spec.metrics[%d].external", i)
		if strings.HasPrefix(m.External.Metric.Name, "leadsman") {
			l.checkMetric(o, path, m, recorded)
		}
	}
}

// checkMetric looks at an external metric that is leadsman's.
func (l *Linter) checkMetric(o *object, path string, m *kube.HPAMetric, recorded map[recordedValue]readPromQL) {
	name := m.External.Metric.Name
	aged := strings.Contains(name, "oldest")
	if name == servedName {
		q := o.checkServed(path+".metric.selector", m, recorded)
		if q.known {
			aged = q.metric == query.MetricOldest
			o.ok(path+".metric", "Prometheus records "+q.text+" for it")
		} else if m.External.Target.Type == metricTypeValue {
			aged = true // whether it is an age is not to be known
		}
	} else {
		l.checkRaw(o, path+".metric", m)
	}
	switch kind := m.External.Target.Type; {
	case aged && kind == metricTypeAverage:
		o.fail(path+".target.type", "is AverageValue, and the HPA would take an age for a sum that replicas share", "write type: Value")
	case !aged && kind == metricTypeValue:
		o.fail(path+".target.type", "is Value, and the HPA would multiply the replicas by it over the target each time it looks",
			"write type: AverageValue")
	default:
		o.checkQuantity(path+".target", m)
	}
}

// checkServed looks at what picks one of the values that rules record. The adapter adds the HPA's own namespace.
func (o *object) checkServed(path string, m *kube.HPAMetric, recorded map[recordedValue]readPromQL) readPromQL {
	object := m.External.Metric.Selector.MatchLabels[labelObject]
	switch {
	case object == "" && len(m.External.Metric.Selector.MatchExpressions) == 0:
		o.fail(path, "is missing "+labelObject+": of all values of the namespace the greatest counts",
			"write matchLabels: {"+labelObject+": …}")
		return readPromQL{}
	case object == "" || recorded == nil:
		return readPromQL{}
	}
	q, ok := recorded[recordedValue{o.Metadata.Namespace, object}]
	if ok {
		return q
	}
	var others []string
	for of := range recorded {
		if of.namespace == o.Metadata.Namespace {
			others = append(others, of.object)
		}
	}
	slices.Sort(others)
	remedy := "write a PrometheusRule with record: " + recordedName + " (leadsman manifest does)"
	if meant := spell.Nearest(object, others); meant != "" {
		remedy = "did you mean " + meant + "?"
	}
	o.fail(path, "no rule among these documents records a value with "+labelObject+" "+strconv.Quote(clip(object))+" for namespace "+
		strconv.Quote(clip(o.Metadata.Namespace)), remedy)
	return readPromQL{}
}

// checkRaw looks at a series that an adapter serves as it is.
func (l *Linter) checkRaw(o *object, path string, m *kube.HPAMetric) {
	s := selector{name: m.External.Metric.Name}
	for _, label := range sortedKeys(m.External.Metric.Selector.MatchLabels) {
		s.matchers = append(s.matchers, equality(label, m.External.Metric.Selector.MatchLabels[label]))
	}
	if !l.checkSelector(o, path, s) {
		return
	}
	if s.name == seriesJobs && len(s.on(labelState)) == 0 && len(m.External.Metric.Selector.MatchExpressions) == 0 {
		o.warn(path+".selector", "jobs that are due later are counted with those that are due now",
			"write matchExpressions: [{key: state, operator: In, values: [ready, running]}]")
	}
}

// checkQuantity looks at the target's value.
func (o *object) checkQuantity(path string, m *kube.HPAMetric) {
	given, key := m.External.Target.AverageValue, "averageValue"
	if m.External.Target.Type == metricTypeValue {
		given, key = m.External.Target.Value, "value"
	}
	var text string
	switch v := given.(type) {
	case nil:
		o.fail(path+"."+key, "is missing, and the API server refuses the type "+clip(m.External.Target.Type)+" without it",
			"write how much of the value one replica is to handle")
		return
	case string:
		text = v
	case json.Number:
		text = v.String()
	}
	digits := strings.TrimRight(text, "numkMGTPEi")
	if n, err := strconv.ParseFloat(digits, 64); err == nil && n <= 0 {
		o.fail(path+"."+key, "must be greater than 0", "write how much of the value one replica is to handle")
	}
}
