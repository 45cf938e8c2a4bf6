package lint_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler/lint"
)

const (
	byPrometheus = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: mailer, namespace: team-mail}
spec:
  scaleTargetRef: {name: mailer}
  minReplicaCount: 0
  fallback: {failureThreshold: 3, replicas: 2}
  triggers:
    - type: prometheus
      metricType: AverageValue
      metadata:
        serverAddress: http://prometheus.monitoring.svc:9090
        query: sum(max by (queue, state) (leadsman_queue_jobs{source="mail",queue="mail-out",state=~"ready|running"}))
        threshold: "5"
        ignoreNullValues: "false"
`
	promQL = `sum(max by (queue, state) (leadsman_queue_jobs{source="mail",queue="mail-out",state=~"ready|running"}))`
	asked  = "ok spec.triggers[0].metadata.query"
)

func TestAPrometheusTriggerIsReadAsKEDAReadsIt(t *testing.T) {
	t.Parallel()
	got := linted(t, server(), byPrometheus)
	same(t, got, asked, waits)
	const want = `KEDA asks for outstanding of queue="mail-out" in source="mail", and is active above 0; outstanding over 5 is the number of replicas`
	if got[0].Found != want {
		t.Errorf("%q\nwant %q", got[0].Found, want)
	}
}

func TestPromQLMistakes(t *testing.T) {
	t.Parallel()
	const query = "spec.triggers[0].metadata.query"
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		// Names.
		{"unparsable", `sum(leadsman_queue_jobs{)`, []string{"fail " + query}},
		{"a series", `sum(max by (queue) (leadsman_queue_job{source="mail",state="ready"}))`, []string{"fail " + query}},
		{"a label", `sum(max by (queue) (leadsman_queue_jobs{source="mail",stat="ready"}))`, []string{"fail " + query}},
		{"a label of another series", `max(leadsman_queue_oldest_seconds{source="mail",state="ready"})`, []string{"fail " + query}},
		{"a label of Prometheus", `sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running",job="leadsman",namespace!=""}))`, []string{asked}},
		{"a state", `sum(max by (queue) (leadsman_queue_jobs{source="mail",state="redy"}))`, []string{"fail " + query}},
		{"a state of several", `sum(max by (queue,state) (leadsman_queue_jobs{source="mail",state=~"ready|runnin"}))`, []string{"fail " + query}},
		{"a pattern of no state", `sum(max by (queue,state) (leadsman_queue_jobs{source="mail",state=~"x.*"}))`, []string{"fail " + query}},
		{"a state by what it is not", `sum(max by (queue,state) (leadsman_queue_jobs{source="mail",state!="scheduled"}))`, []string{asked}},
		{"a source", `sum(max by (queue) (leadsman_queue_jobs{source="mial",state="running"}))`, []string{"fail " + query}},
		{"sources", `sum(max by (queue) (leadsman_queue_jobs{source=~"mail|vdeo",state="running"}))`, []string{"fail " + query}},
		{"a pattern of no source", `sum(max by (queue) (leadsman_queue_jobs{source=~"m.*x",state="running"}))`, []string{"fail " + query}},
		{"a queue", `sum(max by (queue) (leadsman_queue_jobs{source="mail",queue="mail-uot",state="running"}))`, []string{"warn " + query}},
		{"queues", `sum(max by (queue) (leadsman_queue_jobs{source="mail",queue=~"mail-out|spam",state="running"}))`, []string{"warn " + query}},
		{"a pattern of no queue", `sum(max by (queue) (leadsman_queue_jobs{source="mail",queue=~"spam.*",state="running"}))`, []string{"warn " + query}},
		{"a queue where they are not known", `sum(max by (queue) (leadsman_queue_jobs{source="video",queue="x",state="running"}))`, []string{asked}},
		{"the name as a label", `sum(max by (queue) ({__name__="leadsman_queue_job",source="mail"}))`, []string{"fail " + query}},
		// What is picked.
		{"every source", `sum(max by (source,queue) (leadsman_queue_jobs{state="running"}))`, []string{"warn " + query}},
		{"jobs of later", `sum(max by (queue,state) (leadsman_queue_jobs{source="mail"}))`, []string{"warn " + query}},
		{"ready alone", `sum(max by (queue) (leadsman_queue_jobs{source="mail",state="ready"}))`, []string{asked, "warn " + query}},
		{"an age by average", `max(leadsman_queue_oldest_seconds{source="mail"})`, []string{asked, "fail spec.triggers[0].metricType"}},
		{"other series too", `sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running"})) + sum(rate(http_requests_total[1m]))`, []string{asked}},
		{"a share", `sum(max by (queue,state) (leadsman_worker_slots{source="mail",state="busy"})) / sum(max by (queue,state) (leadsman_worker_slots{source="mail"}))`, nil},
		// How the replicas of leadsman are brought together.
		{"once a replica", `sum(leadsman_queue_jobs{source="mail",state="running"})`, []string{"fail " + query}},
		{"once a replica, by queue", `max(sum by (queue) (leadsman_queue_jobs{source="mail",state="running"}))`, []string{"fail " + query}},
		{"by replica", `max(sum by (pod) (leadsman_queue_jobs{source="mail",state=~"ready|running"}))`, []string{asked}},
		{"without queues", `max(sum without (queue, state) (leadsman_queue_jobs{source="mail",state=~"ready|running"}))`, []string{asked}},
		{"of one replica", `sum(leadsman_queue_jobs{source="mail",state="running",pod="leadsman-0"})`, []string{asked}},
		{"the greatest state", `max(leadsman_queue_jobs{source="mail",queue="mail-out",state=~"ready|running"})`, []string{"fail " + query}},
		{"the greatest queue", `max(leadsman_queue_jobs{source="mail",state="running"})`, []string{"fail " + query}},
		{"the greatest of one", `max(leadsman_queue_jobs{source="mail",queue="mail-out",state="running"})`, []string{asked}},
		{"ages added up", `sum(leadsman_queue_oldest_seconds{source="mail"})`, []string{"fail " + query}},
		// What KEDA can read.
		{"several elements", `max by (queue) (leadsman_queue_jobs{source="mail",state="running"})`, []string{"fail " + query}},
		{"a selector", `leadsman_queue_jobs{source="mail",state="running"}`, []string{"fail " + query}},
		{"several elements, rounded", `ceil(max by (queue) (leadsman_queue_jobs{source="mail",state="running"}) / 2)`, []string{"fail " + query}},
		{"several elements, behind a number", `2 * (max by (queue) (leadsman_queue_jobs{source="mail",state="running"}))`, []string{"fail " + query}},
		{"one element, rounded", `ceil(sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running"})) / 2)`, []string{asked}},
		{"a scalar", `scalar(sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running"})))`, []string{"fail " + query}},
		{"a range", `leadsman_queue_jobs{source="mail",state="running"}[5m]`, []string{"fail " + query}},
		{"a zero for no series", `sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running"})) or vector(0)`, []string{"warn " + query}},
		{"a zero for no series, in parentheses", `(sum(max by (queue) (leadsman_queue_jobs{source="mail",state="running"}))) or (vector(0))`, []string{"warn " + query}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := but(t, byPrometheus, "query: "+promQL, "query: '"+c.query+"'")
			same(t, linted(t, server(), text), append(c.want, waits)...)
		})
	}
}

func TestPrometheusTriggerMistakes(t *testing.T) {
	t.Parallel()
	const metadata = "spec.triggers[0].metadata."
	for _, c := range []struct {
		old, instead string
		want         []string
	}{
		// A missing series is 0 to KEDA unless it is told otherwise.
		{"        ignoreNullValues: \"false\"\n", "", []string{"warn " + metadata + "ignoreNullValues", asked}},
		{`ignoreNullValues: "false"`, `ignoreNullValues: "true"`, []string{"warn " + metadata + "ignoreNullValues", asked}},
		{`ignoreNullValues: "false"`, `ignoreNullValues: "no"`, []string{"fail " + metadata + "ignoreNullValues", "warn " + metadata + "ignoreNullValues", asked}},
		{`ignoreNullValues: "false"`, `ignoreNullValues: false`, []string{"fail " + metadata + "ignoreNullValues", asked}},
		{`threshold: "5"`, `threshold: "0"`, []string{"fail " + metadata + "threshold"}},
		{`threshold: "5"`, `threshold: "-5"`, []string{"fail " + metadata + "threshold"}},
		{`threshold: "5"`, `targetValue: "5"`, []string{"warn " + metadata + "targetValue", "fail " + metadata + "threshold"}},
		{`threshold: "5"`, "threshold: \"5\"\n        activationThreshold: \"-1\"", []string{"fail " + metadata + "activationThreshold", asked}},
		{`threshold: "5"`, "threshold: \"5\"\n        activationThreshold: \"3\"", []string{asked}},
		{"        serverAddress: http://prometheus.monitoring.svc:9090\n", "", []string{"fail " + metadata + "serverAddress", asked}},
		{`http://prometheus`, `prometheus`, []string{"fail " + metadata + "serverAddress", asked}},
		{`svc:9090`, `svc:9090/api/v1/query`, []string{"fail " + metadata + "serverAddress", asked}},
		{`svc:9090`, `svc:9090/prometheus`, []string{asked}},
		{`source="mail"`, `source="mial"`, []string{"fail " + metadata + "query"}},
		{promQL, `up == 1`, []string{"note spec.triggers"}},
		{`metricType: AverageValue`, `metricType: Value`, []string{asked, "fail spec.triggers[0].metricType"}},
		{`metricType: AverageValue`, `useCachedMetrics: true`, []string{asked}},
	} {
		want := c.want
		if want[len(want)-1] != "note spec.triggers" {
			want = append(want, waits)
		}
		same(t, linted(t, server(), but(t, byPrometheus, c.old, c.instead)), want...)
	}
	same(t, linted(t, &lint.Linter{}, but(t, byPrometheus, `source="mail"`, `source="other"`)), asked, waits)
}

const (
	ruleOfHPA = `
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: leadsman.team-mail.reporter, namespace: leadsman}
spec:
  groups:
    - name: a
      rules:
        - record: leadsman:scaled_value
          expr: ` + promQL + `
          labels: {scaled_namespace: team-mail, scaled_object: reporter}
        - alert: LeadsmanSourceDown
          expr: max by (source) (leadsman_source_up) == 0
`
	served = `metric: {name: leadsman_scaled_value, selector: {matchLabels: {scaled_object: reporter}}}`
)

func servedHPA(t *testing.T) string {
	t.Helper()
	return but(t, hpa, `metric: {name: leadsman_queue_jobs, selector: {matchLabels: {source: mail, state: ready}}}`, served)
}

func TestAnHPAIsHeldAgainstTheRuleThatRecordsItsValue(t *testing.T) {
	t.Parallel()
	const (
		metric   = "spec.metrics[0].external.metric"
		recorded = "ok " + metric
		expr     = "spec.groups[0].rules[0].expr"
	)
	got := linted(t, server(), ruleOfHPA, servedHPA(t))
	same(t, got, recorded, "ok ")
	if want := `Prometheus records outstanding of queue="mail-out" in source="mail" for it`; got[0].Found != want {
		t.Errorf("%q, want %q", got[0].Found, want)
	}
	same(t, linted(t, server(), servedHPA(t)), "ok ") // the rule may be elsewhere
	for _, c := range []struct {
		rule, ruleInstead, hpa, hpaInstead string
		want                               []string
	}{
		{hpa: "scaled_object: reporter", hpaInstead: "scaled_object: reprter", want: []string{"fail " + metric + ".selector"}},
		{hpa: "scaled_object: reporter", hpaInstead: "object: reporter", want: []string{"fail " + metric + ".selector"}},
		{hpa: "type: AverageValue", hpaInstead: "type: Value", want: []string{recorded, "fail spec.metrics[0].external.target.type"}},
		{hpa: `averageValue: "5"`, hpaInstead: `averageValue: "0"`, want: []string{recorded, "fail spec.metrics[0].external.target.averageValue"}},
		{hpa: `averageValue: "5"`, hpaInstead: `averageValue: 500m`, want: []string{recorded, "ok "}},
		{hpa: `averageValue: "5"`, hpaInstead: `value: 5`, want: []string{recorded, "fail spec.metrics[0].external.target.averageValue"}},
		{rule: "scaled_namespace: team-mail", ruleInstead: "scaled_namespace: other", want: []string{"fail " + metric + ".selector"}},
		{rule: "scaled_namespace: team-mail, ", ruleInstead: "", want: []string{"fail spec.groups[0].rules[0].labels", "fail " + metric + ".selector"}},
		{rule: `source="mail"`, ruleInstead: `source="mial"`, want: []string{"fail " + expr, "ok "}},
		{rule: "max by (queue, state) ", ruleInstead: "", want: []string{"fail " + expr, "ok "}},
		{rule: "leadsman_source_up", ruleInstead: "leadsman_source", want: []string{"fail spec.groups[0].rules[1].expr", recorded, "ok "}},
		{
			rule: promQL, ruleInstead: `max(leadsman_queue_oldest_seconds{source="mail"})`,
			want: []string{recorded, "fail spec.metrics[0].external.target.type"},
		},
	} {
		rule, scaled := ruleOfHPA, servedHPA(t)
		if c.rule != "" {
			rule = but(t, rule, c.rule, c.ruleInstead)
		}
		if c.hpa != "" {
			scaled = but(t, scaled, c.hpa, c.hpaInstead)
		}
		same(t, linted(t, server(), rule, scaled), c.want...)
	}
}

func TestAnHPAOfASeriesItselfIsHeldAgainstTheSeries(t *testing.T) {
	t.Parallel()
	const metric = "spec.metrics[0].external.metric"
	for _, c := range []struct{ old, instead, want string }{
		{"state: ready", "state: redy", "fail " + metric},
		{"source: mail", "source: mial", "fail " + metric},
		{", state: ready", "", "warn " + metric + ".selector"},
		{"leadsman_queue_jobs", "leadsman_jobs", "fail " + metric},
	} {
		same(t, linted(t, server(), but(t, hpa, c.old, c.instead)), c.want)
	}
	other := strings.Replace(hpa, "leadsman_queue_jobs", "other_jobs", 1)
	same(t, linted(t, server(), but(t, other, "state: ready", "state: redy")), "ok ")
}

// Whatever a query is, lint says something of it, or nothing.
func FuzzPromQL(f *testing.F) {
	f.Add(promQL, "metricValue", "http://leadsman/api/scaler/a/b?c=d")
	f.Add(`max(leadsman_queue_oldest_seconds) or vector(0)`, "perQueue.a.ready", "leadsman:8080/metrics")
	f.Add(`{__name__=~"leadsman.*"} @ end() offset -5m`, `leadsman_queue_jobs{state="ready"}`, "http://leadsman/metrics")
	f.Fuzz(func(_ *testing.T, query, location, address string) {
		linter := server()
		linter.Add("fuzz", manifestOf(query, location, address))
		linter.Findings()
	})
}
