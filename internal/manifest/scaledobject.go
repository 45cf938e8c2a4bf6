package manifest

import "fmt"

// A scaledObject is KEDA's.
type scaledObject struct {
	header `yaml:",inline"`

	Spec scaledObjectSpec `yaml:"spec"`
}

type scaledObjectSpec struct {
	ScaleTargetRef   scaleTarget `yaml:"scaleTargetRef"`
	PollingInterval  int         `yaml:"pollingInterval,omitempty"`
	CooldownPeriod   *int        `yaml:"cooldownPeriod,omitempty"`
	IdleReplicaCount *int        `yaml:"idleReplicaCount,omitempty"`
	MinReplicaCount  int         `yaml:"minReplicaCount"`
	MaxReplicaCount  int         `yaml:"maxReplicaCount"`
	Advanced         advanced    `yaml:"advanced"`
	Fallback         *fallback   `yaml:"fallback,omitempty"`
	Triggers         []trigger   `yaml:"triggers"`
}

type scaleTarget struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Name       string `yaml:"name"`
	Container  string `yaml:"envSourceContainerName,omitempty"`
}

type advanced struct {
	HPA struct {
		Behavior behavior `yaml:"behavior"`
	} `yaml:"horizontalPodAutoscalerConfig"`
}

type fallback struct {
	FailureThreshold int    `yaml:"failureThreshold"`
	Replicas         int    `yaml:"replicas"`
	Behavior         string `yaml:"behavior"`
}

// scaledObject makes the ScaledObject of every mode of KEDA's but scaled-job.
func (s *Spec) scaledObject() Object {
	body := scaledObject{header: s.header("keda.sh/v1alpha1", "ScaledObject", s.Name)}
	body.Spec = scaledObjectSpec{
		ScaleTargetRef: scaleTarget{
			APIVersion: s.Worker.APIVersion, Kind: s.Worker.Kind, Name: s.Worker.Name, Container: s.Worker.Container,
		},
		MinReplicaCount: s.Min, MaxReplicaCount: s.Max, Triggers: s.triggers(),
	}
	body.Spec.Advanced.HPA.Behavior = s.behavior()
	notes := map[string]string{}
	if s.toZero() {
		cooldown := seconds(s.Cooldown)
		body.Spec.PollingInterval, body.Spec.CooldownPeriod = seconds(s.Poll), &cooldown
		s.zeroNotes(notes)
	}
	if s.IdleToZero {
		body.Spec.IdleReplicaCount = new(int)
	}
	body.Spec.Fallback = &fallback{
		FailureThreshold: s.Fallback.After, Replicas: s.Fallback.Replicas, Behavior: "currentReplicasIfHigher",
	}
	notes["spec.fallback"] = fmt.Sprintf("After %d polls without an answer there are as many replicas as before, and %d at least.",
		s.Fallback.After, s.Fallback.Replicas)
	if s.byRatio() {
		notes["spec.fallback"] += " For a metricType Value it takes KEDA 2.18 or later."
	}
	s.behaviorNotes(notes, "spec.advanced.horizontalPodAutoscalerConfig.behavior")
	s.triggerNotes(notes)
	return Object{Body: body, Notes: notes, id: body.identity()}
}

// zeroNotes says what holds for a worker that may be gone.
func (s *Spec) zeroNotes(notes map[string]string) {
	notes["spec.cooldownPeriod"] = "Seconds without work before the last replica goes. What takes the others away is " +
		"stabilizationWindowSeconds below, and this has no part in it."
	poll := "Seconds that a first job waits for a replica at most. The database feels none of it: one read serves all " +
		"who ask."
	switch {
	case s.Mode == ModeExternalPush:
		poll = "Seconds. The push wakes the worker; polling only heals what was lost on the way."
	case s.Mode.ofPrometheus():
		poll = "Seconds that a first job waits for a replica at most, on top of Prometheus' own scrape interval."
	}
	notes["spec.pollingInterval"] = poll
	if s.IdleToZero {
		notes["spec.idleReplicaCount"] = fmt.Sprintf("None while there is nothing to do, and %d at once when there is.", s.Min)
	} else {
		notes["spec.minReplicaCount"] =
			"The first job starts one replica. To start several at once write idle: 0 and min: N into the spec, " +
				"which become idleReplicaCount and minReplicaCount."
	}
}

// A behavior is that of a HorizontalPodAutoscaler, of Kubernetes' or of the one that KEDA makes.
type behavior struct {
	ScaleUp   scaling `yaml:"scaleUp"`
	ScaleDown scaling `yaml:"scaleDown"`
}

type scaling struct {
	Window       int             `yaml:"stabilizationWindowSeconds"`
	SelectPolicy string          `yaml:"selectPolicy,omitempty"`
	Policies     []scalingPolicy `yaml:"policies"`
}

type scalingPolicy struct {
	Type   string `yaml:"type"`
	Value  int    `yaml:"value"`
	Period int    `yaml:"periodSeconds"`
}

// behavior goes up at once, by half of all replicas or twice those there are, and comes down slowly.
func (s *Spec) behavior() behavior {
	return behavior{
		ScaleUp: scaling{
			Window: 0, SelectPolicy: "Max",
			Policies: []scalingPolicy{{"Percent", 100, 15}, {"Pods", max(1, (s.Max+1)/2), 15}},
		},
		ScaleDown: scaling{
			Window:   seconds(s.Stabilization),
			Policies: []scalingPolicy{{"Percent", 50, 60}},
		},
	}
}

func (s *Spec) behaviorNotes(notes map[string]string, path string) {
	notes[path+".scaleUp"] = "Twice the replicas or half of the most each 15 s, whichever is more: a backlog is there already."
	notes[path+".scaleDown.stabilizationWindowSeconds"] =
		"The most replicas that were wanted within so many seconds count, so that a worker is not taken away " +
			"between two bursts."
	notes[path+".scaleDown"] =
		"A worker that is taken away has its pod's terminationGracePeriodSeconds, 30 unless the " + s.Worker.Kind +
			" says otherwise, to finish its job after SIGTERM: let that be longer than the longest job."
}
