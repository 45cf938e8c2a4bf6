package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Names that a rule, the adapter and the HorizontalPodAutoscaler have to agree on. The labels are not called namespace
// and deployment because Prometheus' operator sets and overwrites such.
const (
	recorded       = "leadsman:scaled_value"
	served         = "leadsman_scaled_value"
	labelNamespace = "scaled_namespace"
	labelObject    = "scaled_object"
)

// prometheusObjects make a HorizontalPodAutoscaler scale by leadsman's metrics: they are scraped, a rule records the
// spec's value for its namespace, the adapter serves that to the namespace, and the autoscaler asks.
func (s *Spec) prometheusObjects() []Object {
	return []Object{s.serviceMonitor(), s.prometheusRule(), s.adapterConfig(), s.autoscaler()}
}

type serviceMonitor struct {
	header `yaml:",inline"`

	Spec serviceMonitorSpec `yaml:"spec"`
}

type serviceMonitorSpec struct {
	Selector  labelSelector `yaml:"selector"`
	Endpoints []endpoint    `yaml:"endpoints"`
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type endpoint struct {
	Port          string         `yaml:"port"`
	Path          string         `yaml:"path"`
	Interval      string         `yaml:"interval"`
	Scheme        string         `yaml:"scheme,omitempty"`
	Authorization *authorization `yaml:"authorization,omitempty"`
	TLSConfig     *tlsConfig     `yaml:"tlsConfig,omitempty"`
}

type authorization struct {
	Credentials secretKey `yaml:"credentials"`
}

type secretKey struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

type tlsConfig struct {
	ServerName string        `yaml:"serverName"`
	CA         *secretOrElse `yaml:"ca,omitempty"`
	Cert       *secretOrElse `yaml:"cert,omitempty"`
	KeySecret  *secretKey    `yaml:"keySecret,omitempty"`
}

type secretOrElse struct {
	Secret secretKey `yaml:"secret"`
}

// serviceMonitor is named as the Helm chart's, so that nothing is scraped twice where both are applied.
func (s *Spec) serviceMonitor() Object {
	body := serviceMonitor{header: s.serverHeader("monitoring.coreos.com/v1", "ServiceMonitor", s.Server.Name)}
	at := endpoint{Port: "http", Path: "/metrics", Interval: "15s"}
	if s.TokenFrom.Secret != "" {
		at.Authorization = &authorization{Credentials: secretKey{s.TokenFrom.Secret, s.TokenFrom.Key}}
	}
	if s.TLS != nil {
		at.Scheme = "https"
		at.TLSConfig = s.tlsConfig()
	}
	body.Spec = serviceMonitorSpec{
		Selector: labelSelector{MatchLabels: map[string]string{
			"app.kubernetes.io/name": "leadsman", "app.kubernetes.io/component": "http",
		}},
		Endpoints: []endpoint{at},
	}
	notes := map[string]string{
		"spec.endpoints[0].authorization": "" +
			"A token without limits to sources, queues or namespaces, in a Secret beside leadsman: metrics tell " +
			"of all.",
	}
	return Object{
		Body: body, Notes: notes, id: body.identity(),
		Head: "What the Helm chart makes with serviceMonitor.enabled: leave this out where it does.",
	}
}

func (s *Spec) tlsConfig() *tlsConfig {
	c := &tlsConfig{ServerName: s.Server.Name + "-http." + s.Server.Namespace + ".svc"}
	if s.TLS.CASecret != "" {
		c.CA = &secretOrElse{secretKey{s.TLS.CASecret, "ca.crt"}}
	}
	if s.TLS.ClientSecret != "" {
		c.Cert, c.KeySecret = &secretOrElse{secretKey{s.TLS.ClientSecret, "tls.crt"}}, &secretKey{s.TLS.ClientSecret, "tls.key"}
	}
	return c
}

type prometheusRule struct {
	header `yaml:",inline"`

	Spec struct {
		Groups []ruleGroup `yaml:"groups"`
	} `yaml:"spec"`
}

type ruleGroup struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval"`
	Rules    []rule `yaml:"rules"`
}

type rule struct {
	Record string            `yaml:"record"`
	Expr   string            `yaml:"expr"`
	Labels map[string]string `yaml:"labels"`
}

// prometheusRule records the value. A namespace's name holds no dot, so no two specs make one name.
func (s *Spec) prometheusRule() Object {
	name := strings.Join([]string{s.Server.Name, s.Namespace, s.Name}, ".")
	body := prometheusRule{header: s.serverHeader("monitoring.coreos.com/v1", "PrometheusRule", name)}
	body.Spec.Groups = []ruleGroup{{
		Name: name, Interval: "15s",
		Rules: []rule{{
			Record: recorded, Expr: s.promQL(),
			Labels: map[string]string{labelNamespace: s.Namespace, labelObject: s.Name},
		}},
	}}
	return Object{
		Body: body, id: body.identity(),
		Head: "Which queues a namespace scales by is decided here, beside leadsman, and not by who owns the namespace.",
		Notes: map[string]string{
			"spec.groups[0].rules[0].expr": "The replicas of leadsman tell the same, so the greatest counts. Without series there is no " +
				"value, and the autoscaler leaves the replicas as they are.",
		},
	}
}

type configMap struct {
	header `yaml:",inline"`

	Data map[string]string `yaml:"data"`
}

// adapterRules is prometheus-adapter's configuration.
type adapterRules struct {
	ExternalRules []adapterRule `yaml:"externalRules"`
}

type adapterRule struct {
	SeriesQuery string `yaml:"seriesQuery"`
	Resources   struct {
		Overrides map[string]adapterResource `yaml:"overrides"`
	} `yaml:"resources"`
	Name struct {
		Matches string `yaml:"matches"`
		As      string `yaml:"as"`
	} `yaml:"name"`
	MetricsQuery string `yaml:"metricsQuery"`
}

type adapterResource struct {
	Resource string `yaml:"resource"`
}

// adapterConfig serves all that specs record. There is one of it, whatever the number of specs.
func (s *Spec) adapterConfig() Object {
	r := adapterRule{
		SeriesQuery:  recorded + `{` + labelNamespace + `!="",` + labelObject + `!=""}`,
		MetricsQuery: `max(<<.Series>>{<<.LabelMatchers>>})`,
	}
	r.Resources.Overrides = map[string]adapterResource{labelNamespace: {Resource: "namespace"}}
	r.Name.Matches, r.Name.As = "^"+recorded+"$", served
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(adapterRules{ExternalRules: []adapterRule{r}}); err != nil {
		panic("manifest: " + err.Error()) // impossible: these are strings
	}
	body := configMap{
		header: s.serverHeader("v1", "ConfigMap", s.Server.Name+"-adapter-rules"),
		Data:   map[string]string{"config.yaml": text.String()},
	}
	body.Metadata.Labels = nil
	return Object{
		Body: body, id: body.identity(),
		Head: "For prometheus-adapter, which reads one file: add externalRules to it (its Helm chart takes them as " +
			"rules.external), or let it read this one by --config. The adapter adds the namespace of the " +
			"autoscaler that asks to LabelMatchers, so that none sees a value of another namespace. It serves " +
			"external.metrics.k8s.io, which only one API server can: where KEDA does, use a mode of KEDA's.",
	}
}
