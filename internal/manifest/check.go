package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/leadsman/leadsman/internal/kube"
)

// check reports what is wrong with a complete spec as a whole; asked is what was written.
func (s *Spec) check(r *reader, asked *Spec) {
	s.checkWorker(r)
	if s.Source == "" {
		r.faultf("source", "is missing; name a source of the server's configuration (leadsman inspect sources lists them)")
	}
	s.checkBounds(r)
	s.checkMetric(r, asked)
	s.checkToken(r)
	s.checkTLS(r)
	switch s.Mode {
	case ModeScaledJob:
		s.checkScaledJob(r)
	case ModePrometheusHPA:
		s.checkHPA(r)
	case ModePrometheus:
		if s.Prometheus.URL == "" {
			r.faultf("prometheus", "url is missing: KEDA asks Prometheus; give {url: \"http://prometheus.monitoring.svc:9090\"}")
		}
	default:
	}
	if !s.Mode.overGRPC() {
		s.checkActivity(r)
	}
	if s.Strategy != "" && s.Mode != ModeScaledJob {
		r.faultf("strategy", "is for mode scaled-job; remove it")
	}
}

func (s *Spec) checkWorker(r *reader) {
	switch {
	case s.Worker.Name == "" && s.Name == "":
		r.faultf("worker", "is missing; name the Deployment to scale, or give {name: …, job: …} for mode scaled-job")
	case s.Mode == ModeScaledJob && s.Worker.Job == nil:
		r.faultf("worker", "job is missing: mode scaled-job makes Jobs; give {name: …, job: {template: …}}, as a Job's spec")
	case s.Mode != ModeScaledJob && s.Worker.Job != nil:
		r.faultf("worker", "job is for mode scaled-job, and the mode is %s", s.Mode)
	case s.Mode != ModeScaledJob && s.Worker.Name == "":
		r.faultf("worker", "name is missing")
	}
}

func (s *Spec) checkBounds(r *reader) {
	switch {
	case s.Max == 0:
		r.faultf("max", "is missing; give the most replicas that there may be")
	case s.Min > s.Max:
		r.faultf("min", "%d is greater than max, %d", s.Min, s.Max)
	case s.IdleToZero && s.Min == 0:
		r.faultf("idle", "needs min of 1 or more: with nothing to do there are 0 replicas, and with anything to do min at once")
	}
	if s.cooldownGiven && !s.toZero() && s.Mode != ModePrometheusHPA {
		r.faultf("cooldown", "is the wait before the last replica goes, and with min %d that stays; "+
			"for the others give stabilization", s.Min)
	}
	for i, cron := range s.Cron {
		if cron.Replicas > s.Max && s.Max > 0 {
			r.faultf("cron", "item %d has more replicas than max, %d", i+1, s.Max)
		}
	}
}

// checkMetric reports metrics that the mode cannot follow.
func (s *Spec) checkMetric(r *reader, asked *Spec) {
	if s.byRatio() && asked.Target == "" {
		r.faultf("target", "is missing; with metric %s give %s", s.Metric,
			map[string]string{metricOldest: "the seconds that a job may wait", metricUtilization: "a share such as 0.8"}[s.Metric])
	}
	if s.Metric == metricUtilization && s.Mode.ofPrometheus() {
		r.faultf("metric", "utilization cannot be summed over queues by Prometheus, for workers serve several; "+
			"use mode external or metrics-api")
	}
	if s.Metric == metricRunning && s.toZero() && s.Mode != ModeScaledJob {
		r.faultf("metric", "running is 0 until there is a replica, so it cannot start the first; use outstanding")
	}
}

// checkToken reports tokens in a place that does not reach who asks.
func (s *Spec) checkToken(r *reader) {
	t := s.TokenFrom
	switch {
	case t.Secret != "" && s.Mode.overGRPC():
		r.faultf("tokenFrom", "KEDA hands a Secret's token to no external scaler; "+
			"give {env: LEADSMAN_TOKEN}, and take the worker's variable of that name from the Secret")
	case t.Env != "" && !s.Mode.overGRPC():
		r.faultf("tokenFrom", "mode %s takes a token from a Secret, not from the worker's environment; give {secret: …, key: …}", s.Mode)
	case t.Env != "" && s.Worker.Job != nil && !hasVariable(s.Worker.Job, t.Env):
		r.faultf("tokenFrom", "no container of worker.job has a variable %s; add it to env, with valueFrom.secretKeyRef", quote(t.Env))
	}
}

func (s *Spec) checkTLS(r *reader) {
	switch {
	case s.TLS == nil:
	case s.Mode == ModePrometheus:
		r.faultf("tls", "is for asking leadsman, and in mode prometheus Prometheus does that; remove it")
	case s.Mode == ModeMetricsAPI && s.TLS.CASecret != "" && s.TLS.ClientSecret == "":
		r.faultf("tls", "KEDA's metrics-api trigger takes a CA only along with a client certificate; "+
			"give clientSecret too, or let KEDA's operator trust the CA (its /custom/ca) and write tls: {}")
	}
}

func (s *Spec) checkScaledJob(r *reader) {
	if want := strategyMetric(s.Strategy); s.Metric != want {
		r.faultf("metric", "strategy %s subtracts %s: it goes with metric %s, not %s",
			s.Strategy, strategySubtracts(s.Strategy), want, s.Metric)
	}
	r.refuse("has no effect on a ScaledJob, whose Jobs end by themselves; remove it",
		"cpu", "memory", "cron", "idle", "fallback", "cooldown", "stabilization", "linger")
	if s.Worker.Job != nil {
		s.checkJob(r)
	}
}

// checkJob reports what the API server would refuse of a Job, and what everybody forgets.
func (s *Spec) checkJob(r *reader) {
	if err := s.Worker.Job.Decode(new(map[string]any)); err != nil {
		r.faultf("worker", "job cannot be read: %v", err)
		return
	}
	if fault := asKubectl(s.Worker.Job); fault != "" {
		r.faultf("worker", "job is not what kubectl takes: %s; correct it, or put keys that are numbers into quotes", fault)
		return
	}
	pod := lookup(s.Worker.Job, "template", "spec")
	if pod == nil || lookup(pod, "containers") == nil {
		r.faultf("worker", "job has no template.spec.containers; give what stands under a Job's spec")
		return
	}
	policy := lookup(pod, "restartPolicy")
	if policy == nil || policy.Value != "Never" && policy.Value != "OnFailure" {
		r.faultf("worker", "job.template.spec.restartPolicy must be Never or OnFailure, as in every Job")
	}
}

// asKubectl says what keeps kubectl from reading a map as we write it, or "". Its YAML is another: 010 and 8 are the same key to it.
func asKubectl(n *yaml.Node) string {
	text, err := yaml.Marshal(plain(n))
	if err != nil {
		return err.Error()
	}
	for _, document := range kube.Read(text) {
		if document.Err != nil {
			fault, _, _ := strings.Cut(document.Err.Text, " line ") // what is on another line of what nobody has seen
			return fault
		}
	}
	return ""
}

func (s *Spec) checkHPA(r *reader) {
	if s.Min == 0 {
		r.faultf("min", "0 is not for a HorizontalPodAutoscaler, which needs 1 to scale; use mode external-push to scale to zero")
	}
	r.refuse("is KEDA's, and mode prometheus-hpa is without KEDA; remove it", "cron", "fallback", "poll", "idle", "cooldown")
}

// checkActivity reports what is told to nobody where leadsman is not asked whether a trigger is active.
func (s *Spec) checkActivity(r *reader) {
	reason := "leadsman is not asked whether the trigger is active in mode " + string(s.Mode)
	if s.Linger != "" {
		r.faultf("linger", "has no effect: %s; cooldown and stabilization do alike", reason)
	}
	if s.ActiveWhileRunning != "" {
		r.faultf("activeWhileRunning", "has no effect: %s; metric outstanding counts running jobs", reason)
	}
	if s.Lookahead != "" && s.Mode.ofPrometheus() {
		r.faultf("lookahead", "has no effect: Prometheus knows jobs that are due later as scheduled only; use mode external-push")
	}
	if s.Activation != "" && s.Mode == ModePrometheusHPA {
		r.faultf("activation", "has no effect: a HorizontalPodAutoscaler never goes to zero; remove it")
	}
}

// lookup finds what is at a path of maps, or nil.
func lookup(n *yaml.Node, path ...string) *yaml.Node {
	n = resolve(n)
	for _, key := range path {
		var found *yaml.Node
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = resolve(n.Content[i+1])
				break
			}
		}
		if found == nil {
			return nil
		}
		n = found
	}
	return n
}

// hasVariable tells whether a container of a Job has a variable, or may have it from elsewhere.
func hasVariable(job *yaml.Node, name string) bool {
	containers := lookup(job, "template", "spec", "containers")
	if containers == nil {
		return true // which is a fault of its own
	}
	for _, container := range containers.Content {
		if lookup(container, "envFrom") != nil {
			return true
		}
		env := lookup(container, "env")
		if env == nil {
			continue
		}
		for _, variable := range env.Content {
			if n := lookup(variable, "name"); n != nil && strings.TrimSpace(n.Value) == name {
				return true
			}
		}
	}
	return false
}
