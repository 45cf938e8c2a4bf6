package lint

import (
	"net/url"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// readPrometheus reads a prometheus trigger whose query has leadsman's series. KEDA takes the one element of the answer. No
// element is 0 to it unless ignoreNullValues is false, several are an error, and it is active while the value is above
// activationThreshold (ExecutePromQuery and GetMetricsAndActivity of pkg/scalers/prometheus_scaler.go in KEDA 2.21).
func (l *Linter) readPrometheus(o *object, t *readTrigger) bool {
	text, _ := t.Metadata[keyQuery].(string)
	if !strings.Contains(text, "leadsman") {
		return false
	}
	t.given, t.asked = o.texts(t), keyQuery
	o.checkParameters(t, prometheusKeys)
	o.checkServerAddress(t)
	o.truth(t, "unsafeSsl", false)
	threshold := o.checkTarget(t, "threshold")
	activation := o.checkActivation(t, "activationThreshold")
	if o.truth(t, "ignoreNullValues", true) {
		o.warn(t.metadata("ignoreNullValues"),
			"is true, by default: while there is no series, as in an outage, KEDA takes the value for 0, and the fallback never holds",
			`write ignoreNullValues: "false": a queue that is known to be empty is an explicit 0`)
	}
	q := l.checkPromQL(o, t.metadata(keyQuery), text, true)
	t.query, t.ok = query.Query{Metric: q.metric, ActiveWhileRunning: true}, q.known
	if t.ok && threshold > 0 {
		o.tell(t, t.metadata(keyQuery), q.text, threshold, activation)
	}
	return true
}

// checkServerAddress looks at where Prometheus is. KEDA adds the path of the API to it.
func (o *object) checkServerAddress(t *readTrigger) {
	const right = "write http://prometheus-operated.monitoring.svc:9090"
	path, address := t.metadata("serverAddress"), t.value("serverAddress")
	u, err := url.Parse(address)
	switch {
	case address == "":
		o.fail(path, "is missing, and KEDA refuses the trigger", right)
	case err != nil || u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS || u.Host == "":
		o.fail(path, "has no scheme and host that KEDA could ask", right)
	case strings.Contains(u.Path, "/api/v1") || u.RawQuery != "":
		o.fail(path, "KEDA adds /api/v1/query to it", "leave out all that is behind the host, but for a prefix that Prometheus has")
	}
}

// readSeries reads a metrics-api trigger that scrapes leadsman by itself: valueLocation is a selector, of which KEDA takes each
// matcher for an equality, and the first series that fits (getValueFromPrometheusResponse of
// pkg/scalers/metrics_api_scaler.go). It says what that is.
func (l *Linter) readSeries(o *object, t *readTrigger) (asked string) {
	t.asked = keyLocation
	path, location := t.metadata(keyLocation), t.value(keyLocation)
	if t.value("format") != "prometheus" {
		o.refuse(t.metadata("format"), "is not what "+pathMetrics+" answers", "write format: prometheus")
	}
	if location == "" {
		o.refuse(path, "is missing, and KEDA refuses the trigger", `write `+seriesJobs+`{source="…",queue="…",state="ready"}`)
		return ""
	}
	matchers, err := promQL().ParseMetricSelector(location)
	if err != nil {
		o.refuse(path, "is no selector: "+parserWords(err), `write `+seriesJobs+`{source="…",queue="…",state="ready"}`)
		return ""
	}
	s := newSelector(matchers)
	for _, m := range matchers {
		if m.Type != labels.MatchEqual {
			o.refuse(path, "KEDA takes "+clip(m.String())+" for an equality, and finds nothing", "write = for it")
			return ""
		}
	}
	if !l.checkSelector(o, path, s) {
		return ""
	}
	for _, label := range series[s.name] {
		if len(s.on(label)) == 0 {
			o.refuse(path, "of several series KEDA takes the first, and "+label+" is not said", "add "+label+`="…"`)
			return ""
		}
	}
	t.query = query.Query{Metric: metricOf(&s), ActiveWhileRunning: true}
	t.ok = t.query.Metric != ""
	if t.ok {
		t.query.Source = s.on(labelSource)[0].Value
		t.query.Queues = "" // its queue has been held against the source's already
	}
	return string(t.query.Metric) + described(&s)
}

// metricOf is the metric that a selector is; "" where it is none.
func metricOf(s *selector) query.Metric {
	switch s.name {
	case seriesOldest:
		return query.MetricOldest
	case seriesJobs:
		switch picked := s.picks(labelState, states[seriesJobs]); strings.Join(picked, ",") {
		case "ready,running":
			return query.MetricOutstanding
		case "ready", "running", "scheduled":
			return query.Metric(picked[0])
		}
	}
	return ""
}

func promQL() parser.Parser { //nolint:ireturn // Prometheus has no other
	return parser.NewParser(parser.Options{})
}

// parserWords takes the position out of a parser's error: its message names what is wrong.
func parserWords(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if at, message, ok := strings.Cut(text, ": parse error: "); ok {
		return message + " (at " + at + ")"
	}
	return text
}
