package manifest

// An autoscaler is a HorizontalPodAutoscaler of autoscaling/v2.
type autoscaler struct {
	header `yaml:",inline"`

	Spec autoscalerSpec `yaml:"spec"`
}

type autoscalerSpec struct {
	ScaleTargetRef scaleTarget  `yaml:"scaleTargetRef"`
	MinReplicas    int          `yaml:"minReplicas"`
	MaxReplicas    int          `yaml:"maxReplicas"`
	Metrics        []metricSpec `yaml:"metrics"`
	Behavior       behavior     `yaml:"behavior"`
}

type metricSpec struct {
	Type     string          `yaml:"type"`
	External *externalMetric `yaml:"external,omitempty"`
	Resource *resourceMetric `yaml:"resource,omitempty"`
}

type externalMetric struct {
	Metric struct {
		Name     string        `yaml:"name"`
		Selector labelSelector `yaml:"selector"`
	} `yaml:"metric"`
	Target metricTarget `yaml:"target"`
}

type resourceMetric struct {
	Name   string       `yaml:"name"`
	Target metricTarget `yaml:"target"`
}

type metricTarget struct {
	Type               string `yaml:"type"`
	Value              string `yaml:"value,omitempty"`
	AverageValue       string `yaml:"averageValue,omitempty"`
	AverageUtilization int    `yaml:"averageUtilization,omitempty"`
}

func (s *Spec) autoscaler() Object {
	body := autoscaler{header: s.header("autoscaling/v2", "HorizontalPodAutoscaler", s.Name)}
	body.Spec = autoscalerSpec{
		ScaleTargetRef: scaleTarget{APIVersion: s.Worker.APIVersion, Kind: s.Worker.Kind, Name: s.Worker.Name},
		MinReplicas:    s.Min, MaxReplicas: s.Max, Behavior: s.behavior(), Metrics: s.autoscalerMetrics(),
	}
	notes := map[string]string{
		"spec.minReplicas": "A HorizontalPodAutoscaler does not start from zero.",
	}
	target := "spec.metrics[0].external.target"
	if s.byRatio() {
		notes[target] = "Not divided among replicas: the HPA multiplies those there are by value/target."
	} else {
		notes[target] = "AverageValue: replicas = value / target. Value would multiply the replicas there are, until the " +
			"queue is empty."
	}
	if s.CPU+s.Memory > 0 {
		notes["spec.metrics[1]"] = "Percent of what the container requests, so it has to request some."
	}
	s.behaviorNotes(notes, "spec.behavior")
	return Object{Body: body, Notes: notes, id: body.identity()}
}

func (s *Spec) autoscalerMetrics() []metricSpec {
	queue := &externalMetric{Target: metricTarget{Type: "AverageValue", AverageValue: s.Target}}
	if s.byRatio() {
		queue.Target = metricTarget{Type: "Value", Value: s.Target}
	}
	queue.Metric.Name = served
	queue.Metric.Selector = labelSelector{MatchLabels: map[string]string{labelObject: s.Name}}
	all := []metricSpec{{Type: "External", External: queue}}
	for _, resource := range []resourceMetric{
		{"cpu", metricTarget{Type: "Utilization", AverageUtilization: s.CPU}},
		{"memory", metricTarget{Type: "Utilization", AverageUtilization: s.Memory}},
	} {
		if resource.Target.AverageUtilization > 0 {
			all = append(all, metricSpec{Type: "Resource", Resource: &resource})
		}
	}
	return all
}
