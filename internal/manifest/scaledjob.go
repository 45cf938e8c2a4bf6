package manifest

import "go.yaml.in/yaml/v3"

// KEDA's strategies of a ScaledJob that a metric of leadsman fits.
const (
	strategyDefault  = "default"
	strategyAccurate = "accurate"
	strategyEager    = "eager"
)

func strategies() []string { return []string{strategyDefault, strategyAccurate, strategyEager} }

// strategyMetric is the metric that a strategy needs so that no job is counted twice or not at all.
func strategyMetric(strategy string) string {
	if strategy == strategyDefault {
		return metricOutstanding
	}
	return metricReady
}

// strategySubtracts says what KEDA takes off the wanted number of Jobs.
func strategySubtracts(strategy string) string {
	switch strategy {
	case strategyDefault:
		return "the Jobs that have not finished"
	case strategyAccurate:
		return "the Jobs that are pending"
	default:
		return "nothing while there is room"
	}
}

// A scaledJob is KEDA's.
type scaledJob struct {
	header `yaml:",inline"`

	Spec scaledJobSpec `yaml:"spec"`
}

type scaledJobSpec struct {
	JobTargetRef    *yaml.Node `yaml:"jobTargetRef"`
	Container       string     `yaml:"envSourceContainerName,omitempty"`
	PollingInterval int        `yaml:"pollingInterval"`
	MinReplicaCount int        `yaml:"minReplicaCount,omitempty"`
	MaxReplicaCount int        `yaml:"maxReplicaCount"`
	Successful      int        `yaml:"successfulJobsHistoryLimit"`
	Failed          int        `yaml:"failedJobsHistoryLimit"`
	Rollout         rollout    `yaml:"rollout"`
	ScalingStrategy strategy   `yaml:"scalingStrategy"`
	Triggers        []trigger  `yaml:"triggers"`
}

type rollout struct {
	Strategy string `yaml:"strategy"`
}

type strategy struct {
	Strategy string `yaml:"strategy"`
}

func (s *Spec) scaledJob() Object {
	body := scaledJob{header: s.header("keda.sh/v1alpha1", "ScaledJob", s.Name)}
	body.Spec = scaledJobSpec{
		JobTargetRef: plain(s.Worker.Job), Container: s.Worker.Container, PollingInterval: seconds(s.Poll),
		MinReplicaCount: s.Min, MaxReplicaCount: s.Max, Successful: 5, Failed: 5,
		Rollout: rollout{Strategy: "gradual"}, ScalingStrategy: strategy{Strategy: s.Strategy}, Triggers: s.triggers(),
	}
	notes := map[string]string{
		"spec.jobTargetRef": "A Job is never taken away while it runs. When its node is, it has terminationGracePeriodSeconds to " +
			"finish after SIGTERM; activeDeadlineSeconds bounds one that hangs.",
		"spec.pollingInterval":  "Seconds that a job waits for its Job at most: KEDA ignores what is pushed for a ScaledJob.",
		"spec.rollout.strategy": "Jobs that run go on when this object changes; without it KEDA ends them.",
		"spec.scalingStrategy":  s.strategyNote(),
	}
	s.triggerNotes(notes)
	return Object{Body: body, Notes: notes, id: body.identity()}
}

func (s *Spec) strategyNote() string {
	switch s.Strategy {
	case strategyDefault:
		return "KEDA takes the Jobs that have not finished off the value, so the value has to hold running jobs too: " +
			"metric outstanding. With ready, a queue as long as the number of running Jobs would start none."
	case strategyAccurate:
		return "KEDA takes the Jobs that are pending off the value, so the value must not hold running jobs: metric " +
			"ready. With outstanding, each running job would start a Job more at every poll."
	default:
		return "KEDA fills up to maxReplicaCount while there is anything in the value, so the value must not hold " +
			"running jobs: metric ready."
	}
}

// plain copies what was written without its anchors and aliases, which mean nothing elsewhere.
func plain(n *yaml.Node) *yaml.Node {
	out := *resolve(n)
	out.Anchor, out.Content = "", make([]*yaml.Node, len(out.Content))
	for i, inner := range resolve(n).Content {
		out.Content[i] = plain(inner)
	}
	return &out
}
