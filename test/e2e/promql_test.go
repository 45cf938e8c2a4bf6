package e2e

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func parsePromQL(t *testing.T, query string) parser.Expr {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("Prometheus refuses the query %s: %v", query, err)
	}
	return expr
}

// A prometheus has series, and answers queries on them.
type prometheus struct {
	t    *testing.T
	load string
}

// ask evaluates a query five minutes after the series began.
func (p prometheus) ask(query string) promql.Vector {
	p.t.Helper()
	series := strings.ReplaceAll(strings.TrimSpace(p.load), "\n", "\n  ")
	data := promqltest.LoadedStorage(p.t, "load 15s\n  "+series+"\n")
	defer data.Close()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: 10 * time.Second, Parser: parser.NewParser(parser.Options{})})
	defer engine.Close()
	asked, err := engine.NewInstantQuery(p.t.Context(), data, nil, query, time.Unix(300, 0))
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	defer asked.Close()
	got, err := asked.Exec(p.t.Context()).Vector()
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	return slices.Clone(got)
}

// The rules that the chart installs are Prometheus' own language, and those for who has no Helm are the same.
func TestRulesAreParsedByPrometheus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/helm/leadsman/files/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules monitoringv1.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) == 0 || len(rules.Groups[0].Rules) < 3 {
		t.Fatalf("rules = %+v", rules)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			parsePromQL(t, rule.Expr.String())
		}
	}
	object := only[*monitoringv1.PrometheusRule](t, decodeObjects(t, "rules", shipped(t)["prometheus/rules.yaml"]))
	if diff := cmp.Diff(rules, object.Spec); diff != "" {
		t.Errorf("deploy/prometheus/rules.yaml (-chart +object):\n%s", diff)
	}
}

// The series of two replicas of leadsman, which tell the same and are not of the very same moment.
const twoReplicas = `
leadsman_queue_jobs{pod="a",source="mail",queue="mail-in",state="ready"} 20x40
leadsman_queue_jobs{pod="b",source="mail",queue="mail-in",state="ready"} 19x40
leadsman_queue_jobs{pod="a",source="mail",queue="mail-in",state="running"} 3x40
leadsman_queue_jobs{pod="b",source="mail",queue="mail-in",state="running"} 3x40
leadsman_queue_jobs{pod="a",source="mail",queue="mail-out",state="ready"} 1x40
leadsman_queue_jobs{pod="a",source="mail",queue="mail-out",state="scheduled"} 500x40
leadsman_queue_jobs{pod="a",source="mail",queue="web",state="ready"} 100x40
leadsman_queue_jobs{pod="a",source="other",queue="mail-in",state="ready"} 1000x40
leadsman_queue_oldest_seconds{pod="a",source="mail",queue="mail-in"} 90x40
leadsman_queue_oldest_seconds{pod="b",source="mail",queue="mail-in"} 75x40
leadsman_queue_oldest_seconds{pod="a",source="mail",queue="web"} 900x40
`

// What KEDA's prometheus trigger asks is the value that leadsman would tell.
func TestQueriesHaveTheQueuesValues(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]float64{
		"queue: mail-*\n":                             24,
		"queue: mail-*\nmetric: ready\n":              21,
		"queue: mail-in\nmetric: running\nmin: 1\n":   3,
		"queue: mail-*\nmetric: scheduled\n":          500,
		"queue: [web, mail-out]\n":                    101,
		"metric: ready\n":                             121,
		"queue: mail-*\nmetric: oldest\ntarget: 60\n": 90,
	} {
		made := manifestOf(t, "worker: w\nsource: mail\nmax: 9\nmode: prometheus\nprometheus: {url: \"http://p\"}\n"+spec)
		for _, object := range decodeObjects(t, spec, made) {
			query := triggersOf(object)[0].Metadata["query"]
			got := prometheus{t, twoReplicas}.ask(query)
			if len(got) != 1 || got[0].F != want {
				t.Errorf("%s: %s is %v, want %v", spec, query, got, want)
			}
			// Nothing known is no value, and not 0.
			if got := (prometheus{t, "up 1x40\n"}).ask(query); len(got) != 0 {
				t.Errorf("%s without series is %v", query, got)
			}
		}
	}
}

// adapterRules is prometheus-adapter's configuration, as far as there is one for external metrics.
type adapterRules struct {
	ExternalRules []struct {
		SeriesQuery string `json:"seriesQuery"`
		Resources   struct {
			Overrides map[string]struct {
				Group    string `json:"group"`
				Resource string `json:"resource"`
			} `json:"overrides"`
		} `json:"resources"`
		Name struct {
			Matches string `json:"matches"`
			As      string `json:"as"`
		} `json:"name"`
		MetricsQuery string `json:"metricsQuery"`
	} `json:"externalRules"`
}

// An installation is what prometheus-hpa's manifests make of Prometheus, the adapter and autoscalers.
type installation struct {
	t           *testing.T
	recorded    prometheus
	rules       adapterRules
	autoscalers map[string]*autoscalingv2.HorizontalPodAutoscaler // by namespace/name
}

// install evaluates the recording rules on series, as Prometheus does.
func install(t *testing.T, made []byte, series string) *installation {
	t.Helper()
	in := &installation{t: t, recorded: prometheus{t: t}, autoscalers: map[string]*autoscalingv2.HorizontalPodAutoscaler{}}
	for _, object := range decodeObjects(t, "made", made) {
		switch object := object.(type) {
		case *autoscalingv2.HorizontalPodAutoscaler:
			in.autoscalers[object.Namespace+"/"+object.Name] = object
		case *corev1.ConfigMap:
			if err := yaml.UnmarshalStrict([]byte(object.Data["config.yaml"]), &in.rules); err != nil {
				t.Fatal(err)
			}
		case *monitoringv1.PrometheusRule:
			for _, rule := range object.Spec.Groups[0].Rules {
				for _, sample := range (prometheus{t, series}).ask(rule.Expr.String()) {
					builder := labels.NewBuilder(sample.Metric)
					builder.Set(model.MetricNameLabel, rule.Record)
					for name, value := range rule.Labels {
						builder.Set(name, value)
					}
					in.recorded.load += fmt.Sprintf("%s %gx40\n", builder.Labels(), sample.F)
				}
			}
		}
	}
	if len(in.rules.ExternalRules) != 1 {
		t.Fatalf("the adapter has the rules %+v", in.rules)
	}
	return in
}

// ask is what an autoscaler of a namespace gets: the adapter puts the selector's labels and the namespace, under the
// label that the rule maps to it, into the query.
func (in *installation) ask(namespace string, metric *autoscalingv2.MetricIdentifier) promql.Vector {
	in.t.Helper()
	rule := in.rules.ExternalRules[0]
	if metric.Name != rule.Name.As {
		in.t.Fatalf("the autoscaler asks for %s, and the adapter serves %s", metric.Name, rule.Name.As)
	}
	var matchers []string
	for name, value := range metric.Selector.MatchLabels {
		matchers = append(matchers, fmt.Sprintf("%s=%q", name, value))
	}
	mapped := 0
	for name, to := range rule.Resources.Overrides {
		if to.Resource == "namespace" {
			mapped++
			matchers = append(matchers, fmt.Sprintf("%s=%q", name, namespace))
		}
	}
	if mapped != 1 {
		in.t.Fatalf("%d labels are the namespace: %+v", mapped, rule.Resources)
	}
	query, err := texttemplate.New("").Delims("<<", ">>").Parse(rule.MetricsQuery)
	if err != nil {
		in.t.Fatal(err)
	}
	var text bytes.Buffer
	err = query.Execute(&text, map[string]string{
		"Series": strings.Trim(rule.Name.Matches, "^$"), "LabelMatchers": strings.Join(matchers, ","),
	})
	if err != nil {
		in.t.Fatal(err)
	}
	parsePromQL(in.t, rule.SeriesQuery)
	return in.recorded.ask(text.String())
}

// replicas is what an autoscaler wants: value / target, rounded up, within its bounds.
func replicas(t *testing.T, of *autoscalingv2.HorizontalPodAutoscaler, value float64) int32 {
	t.Helper()
	target := of.Spec.Metrics[0].External.Target
	if target.Type != autoscalingv2.AverageValueMetricType {
		t.Fatalf("target = %+v", target)
	}
	wanted := int32(math.Ceil(value / target.AverageValue.AsApproximateFloat64()))
	return min(max(wanted, *of.Spec.MinReplicas), of.Spec.MaxReplicas)
}

const twoTenants = `
{worker: mailer, namespace: team-mail, mode: prometheus-hpa, source: mail, queue: mail-*, target: 5, max: 30}
---
{worker: web, namespace: team-web, mode: prometheus-hpa, source: mail, queue: web, target: 7, max: 10}
`

func TestAutoscalerFollowsTheQueue(t *testing.T) {
	t.Parallel()
	in := install(t, manifestOf(t, twoTenants), twoReplicas)
	for name, want := range map[string]struct {
		value    float64
		replicas int32
	}{"team-mail/mailer": {24, 5}, "team-web/web": {100, 10}} {
		hpa := in.autoscalers[name]
		got := in.ask(hpa.Namespace, &hpa.Spec.Metrics[0].External.Metric)
		if len(got) != 1 || got[0].F != want.value {
			t.Errorf("%s gets %v, want %v", name, got, want.value)
			continue
		}
		if n := replicas(t, hpa, got[0].F); n != want.replicas {
			t.Errorf("%s wants %d replicas, want %d", name, n, want.replicas)
		}
	}
}

// Whatever an autoscaler of one namespace asks for, it sees nothing of another.
func TestAutoscalerSeesItsOwnNamespaceOnly(t *testing.T) {
	t.Parallel()
	in := install(t, manifestOf(t, twoTenants), twoReplicas)
	if n := strings.Count(in.recorded.load, "\n"); n != 2 {
		t.Fatalf("%d values were recorded, want 2:\n%s", n, in.recorded.load)
	}
	theirs := in.autoscalers["team-web/web"].Spec.Metrics[0].External.Metric.DeepCopy()
	if got := in.ask("team-mail", theirs); len(got) != 0 {
		t.Errorf("team-mail sees %v of team-web", got)
	}
	theirs.Selector.MatchLabels["scaled_namespace"] = "team-web"
	if got := in.ask("team-mail", theirs); len(got) != 0 {
		t.Errorf("team-mail sees %v of team-web by asking for it", got)
	}
	theirs.Selector.MatchLabels = nil
	if got := in.ask("team-mail", theirs); len(got) != 1 || got[0].F != 24 {
		t.Errorf("team-mail sees %v, want its own 24 alone", got)
	}
}

// An outage of the source leaves no value, so that the autoscaler leaves the replicas as they are.
func TestAutoscalerGetsNoValueInAnOutage(t *testing.T) {
	t.Parallel()
	in := install(t, manifestOf(t, twoTenants), "leadsman_source_up{pod=\"a\",source=\"mail\"} 0x40\n")
	in.recorded.load += "up 1x40\n"
	hpa := in.autoscalers["team-mail/mailer"]
	if got := in.ask(hpa.Namespace, &hpa.Spec.Metrics[0].External.Metric); len(got) != 0 {
		t.Errorf("the autoscaler gets %v", got)
	}
}
