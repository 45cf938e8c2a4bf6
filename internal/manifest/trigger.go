package manifest

import (
	"maps"
	"net/url"
	"strconv"
)

// A trigger is one of KEDA's.
type trigger struct {
	Type              string             `yaml:"type"`
	Name              string             `yaml:"name,omitempty"`
	MetricType        string             `yaml:"metricType,omitempty"`
	Metadata          map[string]string  `yaml:"metadata"`
	AuthenticationRef *authenticationRef `yaml:"authenticationRef,omitempty"`
}

type authenticationRef struct {
	Name string `yaml:"name"`
}

// triggers makes those of a ScaledObject or ScaledJob: the queue's first, for comments find it there.
func (s *Spec) triggers() []trigger {
	queue := trigger{Metadata: map[string]string{}}
	switch s.Mode {
	case ModeMetricsAPI:
		queue.Type = "metrics-api"
		s.overHTTP(queue.Metadata)
	case ModePrometheus:
		queue.Type = "prometheus"
		s.byPrometheus(queue.Metadata)
	case ModeExternalPush:
		queue.Type = "external-push"
		s.overGRPC(queue.Metadata)
	default: // a ScaledJob too: KEDA ignores what is pushed for one
		queue.Type = "external"
		s.overGRPC(queue.Metadata)
	}
	if _, ok := s.triggerAuthentication(); ok {
		queue.AuthenticationRef = &authenticationRef{Name: s.authenticationName()}
	}
	if s.byRatio() {
		queue.MetricType = "Value"
	}
	return append([]trigger{queue}, s.otherTriggers()...)
}

// overGRPC says what leadsman is asked by KEDA's external scaler.
func (s *Spec) overGRPC(m map[string]string) {
	m["scalerAddress"] = s.Server.Address
	maps.Copy(m, s.question())
	m["target"] = s.Target
	given(m, "activation", s.Activation)
	given(m, "tokenFromEnv", s.TokenFrom.Env)
	if s.TLS != nil && *s.TLS == (TLS{}) {
		m["enableTLS"] = "true"
	}
}

// overHTTP says the same in a URL. What KEDA decides by itself are target and activation.
func (s *Spec) overHTTP(m map[string]string) {
	parameters := url.Values{"target": {s.Target}}
	for key, value := range s.question() {
		parameters.Set(key, value)
	}
	m["url"] = s.Server.URL + "/api/scaler?" + parameters.Encode()
	m["valueLocation"] = "metricValue"
	m["targetValue"] = s.Target
	given(m, "activationTargetValue", s.Activation)
	s.authenticate(m)
}

// byPrometheus says what Prometheus is asked.
func (s *Spec) byPrometheus(m map[string]string) {
	m["serverAddress"] = s.Prometheus.URL
	m["query"] = s.promQL()
	m["threshold"] = s.Target
	given(m, "activationThreshold", s.Activation)
	m["ignoreNullValues"] = "false"
	s.authenticate(m)
}

// authenticate says how KEDA shows who it is over HTTP.
func (s *Spec) authenticate(m map[string]string) {
	certificate := s.TLS != nil && s.TLS.ClientSecret != ""
	switch bearer := s.TokenFrom.Secret != ""; {
	case bearer && certificate:
		m["authModes"] = "bearer,tls"
	case bearer:
		m["authModes"] = "bearer"
	case certificate:
		m["authModes"] = "tls"
	}
}

// question is what is asked of which queues, in the words of a trigger's metadata.
func (s *Spec) question() map[string]string {
	m := map[string]string{"source": s.Source, "metric": s.Metric}
	given(m, "queue", s.Queue)
	given(m, "activeWhileRunning", s.ActiveWhileRunning)
	given(m, "linger", s.Linger)
	given(m, "lookahead", s.Lookahead)
	return m
}

// otherTriggers are those that do not come from a queue.
func (s *Spec) otherTriggers() []trigger {
	var all []trigger
	for _, resource := range []struct {
		name    string
		percent int
	}{{"cpu", s.CPU}, {"memory", s.Memory}} {
		if resource.percent > 0 {
			all = append(all, trigger{
				Type: resource.name, MetricType: "Utilization",
				Metadata: map[string]string{"value": strconv.Itoa(resource.percent)},
			})
		}
	}
	for _, c := range s.Cron {
		all = append(all, trigger{Type: "cron", Metadata: map[string]string{
			"timezone": c.Timezone, "start": c.Start, "end": c.End, "desiredReplicas": strconv.Itoa(c.Replicas),
		}})
	}
	return all
}

func given(m map[string]string, key, value string) {
	if value != "" {
		m[key] = value
	}
}

// triggerNotes says of the triggers what people get wrong.
func (s *Spec) triggerNotes(notes map[string]string) {
	const queue = "spec.triggers[0]"
	switch s.Mode {
	case ModeMetricsAPI:
		notes[queue] = "KEDA is active while the value is above activationTargetValue: metric outstanding counts running " +
			"jobs, so that a worker is not taken away in the middle of one."
	case ModePrometheus:
		notes[queue+".metadata.ignoreNullValues"] = "Without this KEDA takes a missing series for 0, and an outage for an empty queue."
	default:
		notes[queue+".metadata.scalerAddress"] = "The headless Service: a client has to see the replicas to move to another one."
		notes[queue+".metadata.tokenFromEnv"] =
			"A variable of the worker's container. KEDA hands no TriggerAuthentication's values to an external " +
				"scaler but TLS, and TLS keeps the token from being read on the way."
	}
	if s.byRatio() {
		notes[queue+".metricType"] = "Not divided among replicas: the HPA multiplies those there are by value/target."
	}
	if s.CPU+s.Memory > 0 {
		notes["spec.triggers[1]"] =
			"Percent of what the container requests, so it has to request some. It adds replicas and holds them; " +
				"it starts none from zero."
	}
}
