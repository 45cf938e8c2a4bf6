package manifest

import (
	"cmp"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Mode is who scales the worker, and whom it asks.
type Mode string

// The modes there are.
const (
	ModeExternal      Mode = "external"       // KEDA asks leadsman over gRPC
	ModeExternalPush  Mode = "external-push"  // and leadsman wakes KEDA
	ModeMetricsAPI    Mode = "metrics-api"    // KEDA asks leadsman over HTTP
	ModePrometheus    Mode = "prometheus"     // KEDA asks Prometheus
	ModePrometheusHPA Mode = "prometheus-hpa" // no KEDA: an HPA asks prometheus-adapter
	ModeScaledJob     Mode = "scaled-job"     // KEDA makes a Job of each piece of work, asking over gRPC
)

func modes() []string {
	return []string{
		string(ModeExternal), string(ModeExternalPush), string(ModeMetricsAPI), string(ModePrometheus),
		string(ModePrometheusHPA), string(ModeScaledJob),
	}
}

// overGRPC tells whether KEDA asks an external scaler.
func (m Mode) overGRPC() bool {
	return m == ModeExternal || m == ModeExternalPush || m == ModeScaledJob
}

// ofPrometheus tells whether the value comes from Prometheus.
func (m Mode) ofPrometheus() bool { return m == ModePrometheus || m == ModePrometheusHPA }

// The metrics a spec may follow, as in a trigger's metadata.
const (
	metricReady       = "ready"
	metricRunning     = "running"
	metricOutstanding = "outstanding"
	metricScheduled   = "scheduled"
	metricOldest      = "oldest"
	metricUtilization = "utilization"
)

func metrics() []string {
	return []string{metricReady, metricRunning, metricOutstanding, metricScheduled, metricOldest, metricUtilization}
}

// A Spec is what one worker is to be scaled by. [Parse] makes it, complete and free of faults.
type Spec struct {
	Name      string // of the objects; the worker's name unless given
	Namespace string // of the worker
	Mode      Mode
	Worker    Worker

	Source string
	Queue  string // patterns as in a trigger's metadata; "" is all queues
	Metric string
	// Target, Activation are decimal numbers as they were written; Activation is "" for none.
	Target, Activation string
	ActiveWhileRunning string // true, false or ""
	// Linger and Lookahead are durations as they were written, or "".
	Linger, Lookahead string

	Min, Max      int
	IdleToZero    bool   // idleReplicaCount: 0
	Strategy      string // of a ScaledJob
	CPU, Memory   int    // percent of what is requested; 0 is no such trigger
	Cron          []Cron
	Fallback      Fallback
	Poll          time.Duration // how often KEDA asks; whole seconds
	Cooldown      time.Duration // before the last replica goes
	Stabilization time.Duration // before any other does

	TokenFrom  TokenFrom
	TLS        *TLS // nil is plain text
	Server     Server
	Prometheus Prometheus

	at                      place // where the document begins
	minGiven, cooldownGiven bool
}

// A Worker is what is scaled.
type Worker struct {
	APIVersion, Kind, Name string
	Container              string     // whose environment FromEnv means; "" is the first
	Job                    *yaml.Node // a JobSpec, as it was written; nil unless it is a ScaledJob
}

// A Cron keeps a number of replicas for a time of the day.
type Cron struct {
	Timezone, Start, End string
	Replicas             int
}

// A Fallback is what holds while the value cannot be had.
type Fallback struct {
	Replicas int // at least so many; -1 follows from Min
	After    int // polls that fail in a row

	given bool
}

// A TokenFrom says where the access token is: in the worker's environment, or in a Secret.
type TokenFrom struct{ Env, Secret, Key string }

// A TLS names Secrets with certificates, as cert-manager makes them.
type TLS struct {
	CASecret     string // ca.crt; "" trusts the certificates that the system does
	ClientSecret string // tls.crt and tls.key; "" shows none
}

// A Server is where leadsman is.
type Server struct {
	Name, Namespace string // of its Service
	Address, URL    string // for gRPC, and for HTTP
}

// A Prometheus is where it is, and what its objects are selected by.
type Prometheus struct {
	URL    string
	Labels map[string]string
}

// complete fills in what was left out and follows from the rest.
func (s *Spec) complete() {
	s.Mode = cmp.Or(s.Mode, ModeExternalPush)
	s.Namespace = cmp.Or(s.Namespace, "default")
	s.Name = cmp.Or(s.Name, s.Worker.Name)
	s.Worker.Kind = cmp.Or(s.Worker.Kind, "Deployment")
	s.Worker.APIVersion = cmp.Or(s.Worker.APIVersion, "apps/v1")
	s.Server.Name = cmp.Or(s.Server.Name, "leadsman")
	s.Server.Namespace = cmp.Or(s.Server.Namespace, "leadsman")
	s.Server.Address = cmp.Or(s.Server.Address, s.Server.Name+"."+s.Server.Namespace+".svc:50051")
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	s.Server.URL = cmp.Or(s.Server.URL, scheme+"://"+s.Server.Name+"-http."+s.Server.Namespace+".svc:8080")
	s.completeValue()
}

// completeValue fills in what follows from the mode and the metric.
func (s *Spec) completeValue() {
	if s.Mode == ModeScaledJob {
		s.Strategy = cmp.Or(s.Strategy, map[string]string{metricReady: strategyAccurate}[s.Metric], strategyDefault)
		s.Metric = cmp.Or(s.Metric, strategyMetric(s.Strategy))
		s.Target = cmp.Or(s.Target, "1")
	}
	s.Metric = cmp.Or(s.Metric, metricOutstanding)
	s.Target = cmp.Or(s.Target, "10")
	if s.Mode == ModePrometheusHPA && !s.minGiven {
		s.Min = 1
	}
	var poll time.Duration
	switch s.Mode {
	case ModeExternalPush:
		poll = 30 * time.Second
	case ModeMetricsAPI:
		poll = 10 * time.Second
	case ModePrometheus:
		poll = 15 * time.Second
	default:
		poll = 5 * time.Second
	}
	s.Poll = cmp.Or(s.Poll, poll)
	s.Fallback.After = cmp.Or(s.Fallback.After, 3)
	if s.Fallback.Replicas < 0 {
		s.Fallback.Replicas = max(s.Min, 1)
	}
}

// toZero tells whether there may be no replica at all.
func (s *Spec) toZero() bool { return s.Min == 0 || s.IdleToZero }

// byRatio tells whether the metric is a ratio or an age: something that is not divided among replicas.
func (s *Spec) byRatio() bool { return s.Metric == metricOldest || s.Metric == metricUtilization }

// seconds is d for the fields of Kubernetes that count them.
func seconds(d time.Duration) int { return int(d / time.Second) }
