package kube

import (
	"encoding/json"
	"strings"

	node "go.yaml.in/yaml/v3"
)

// The kinds that readers ask for.
const (
	KindScaledObject                 = "ScaledObject"
	KindScaledJob                    = "ScaledJob"
	KindTriggerAuthentication        = "TriggerAuthentication"
	KindClusterTriggerAuthentication = "ClusterTriggerAuthentication"
	KindHPA                          = "HorizontalPodAutoscaler"
	KindDeployment                   = "Deployment"
	KindPrometheusRule               = "PrometheusRule"
)

// An Object is what is read of a Kubernetes object.
type Object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`

	// Document is the number of the document that it is in.
	Document int `json:"-"`
	// Raw is the spec as it is written; nil where that is no map. Numbers are json.Number.
	Raw map[string]any `json:"-"`
	// Wrong is the first value whose type is not that of its key; nil for none. The rest is read all the same.
	Wrong *TypeError `json:"-"`

	node  *node.Node // nil where its lines cannot be told
	lines lines      // of its document
}

// Metadata is what is read of an object's metadata.
type Metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Annotations     map[string]string `json:"annotations"`
	Labels          map[string]string `json:"labels"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
	} `json:"ownerReferences"`
}

// A Spec is that of each kind in one: among the kinds that are read no key has two meanings.
type Spec struct {
	ScaleTargetRef   TargetRef `json:"scaleTargetRef"`
	PollingInterval  *int32    `json:"pollingInterval"`
	CooldownPeriod   *int32    `json:"cooldownPeriod"`
	IdleReplicaCount *int32    `json:"idleReplicaCount"`
	MinReplicaCount  *int32    `json:"minReplicaCount"`
	MaxReplicaCount  *int32    `json:"maxReplicaCount"`
	Triggers         []Trigger `json:"triggers"`
	Fallback         *struct{} `json:"fallback"`
	Advanced         struct {
		HPA struct {
			Name string `json:"name"`
		} `json:"horizontalPodAutoscalerConfig"`
		ScalingModifiers struct {
			Formula string `json:"formula"`
		} `json:"scalingModifiers"`
	} `json:"advanced"`

	JobTargetRef struct { // of a ScaledJob, as are the next four
		Template PodTemplate `json:"template"`
	} `json:"jobTargetRef"`
	Container       string `json:"envSourceContainerName"`
	ScalingStrategy struct {
		Strategy string `json:"strategy"`
	} `json:"scalingStrategy"`
	Rollout struct {
		Strategy string `json:"strategy"`
	} `json:"rollout"`
	RolloutStrategy string `json:"rolloutStrategy"` // deprecated

	MinReplicas *int32      `json:"minReplicas"` // of an HPA, as are the next two
	MaxReplicas *int32      `json:"maxReplicas"`
	Metrics     []HPAMetric `json:"metrics"`

	Replicas *int32      `json:"replicas"` // of a workload, as is the next
	Template PodTemplate `json:"template"`

	SecretTargetRef    []Parameter `json:"secretTargetRef"` // of a TriggerAuthentication, as are the next two
	ConfigMapTargetRef []Parameter `json:"configMapTargetRef"`
	Env                []Parameter `json:"env"`

	Groups []RuleGroup `json:"groups"` // of a PrometheusRule
}

// A TargetRef names a workload.
type TargetRef struct {
	Kind      string `json:"kind"` // "" is a Deployment
	Name      string `json:"name"`
	Container string `json:"envSourceContainerName"` // "" is the first one
}

// A Trigger is one of KEDA's.
type Trigger struct {
	Type              string         `json:"type"`
	Name              string         `json:"name"`
	MetricType        string         `json:"metricType"`
	UseCachedMetrics  bool           `json:"useCachedMetrics"`
	Metadata          map[string]any `json:"metadata"` // KEDA's schema has texts alone; numbers are json.Number
	AuthenticationRef *struct {
		Kind string `json:"kind"` // "" is a TriggerAuthentication
		Name string `json:"name"`
	} `json:"authenticationRef"`
}

// A PodTemplate is that of a workload or a Job.
type PodTemplate struct {
	Spec struct {
		Containers []Container `json:"containers"`
		Grace      *int64      `json:"terminationGracePeriodSeconds"`
	} `json:"spec"`
}

// A Container is one of a pod's, with its environment.
type Container struct {
	Name    string            `json:"name"`
	Env     []Variable        `json:"env"`
	EnvFrom []json.RawMessage `json:"envFrom"`
}

// A Variable is one of a container's.
type Variable struct {
	Name      string          `json:"name"`
	Value     string          `json:"value"`
	ValueFrom json.RawMessage `json:"valueFrom"`
}

// An HPAMetric is one of a HorizontalPodAutoscaler's. Only external ones are read.
type HPAMetric struct {
	External struct {
		Metric struct {
			Name     string `json:"name"`
			Selector struct {
				MatchLabels      map[string]string `json:"matchLabels"`
				MatchExpressions []json.RawMessage `json:"matchExpressions"`
			} `json:"selector"`
		} `json:"metric"`
		Target struct {
			Type         string `json:"type"`
			Value        any    `json:"value"` // quantities: a text or a json.Number
			AverageValue any    `json:"averageValue"`
		} `json:"target"`
	} `json:"external"`
}

// A Parameter is one that a TriggerAuthentication gives to a trigger.
type Parameter struct {
	Parameter string `json:"parameter"`
}

// A RuleGroup is one of a PrometheusRule's.
type RuleGroup struct {
	Rules []struct {
		Record string            `json:"record"` // "" for an alert
		Expr   any               `json:"expr"`   // a text, or a json.Number
		Labels map[string]string `json:"labels"`
	} `json:"rules"`
}

// Scaled tells whether KEDA scales by the object. An apiVersion that is missing is nobody else's either.
func (o *Object) Scaled() bool {
	return (o.APIVersion == "" || strings.HasPrefix(o.APIVersion, "keda.sh/")) &&
		(o.Kind == KindScaledObject || o.Kind == KindScaledJob)
}

// Workload tells whether the object runs pods.
func (o *Object) Workload() bool { return len(o.Spec.Template.Spec.Containers) > 0 }

// Title names the object as people do: "ScaledObject team-mail/mailer".
func (o *Object) Title() string {
	name := o.Metadata.Name
	if o.Metadata.Namespace != "" {
		name = o.Metadata.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// Line is the line of the stream at which a key is, such as spec.triggers[0].metadata.target, or that of the nearest one above
// it that is there; that of the object for "", and 0 where it cannot be told.
func (o *Object) Line(key string) int {
	if o.node == nil {
		return 0
	}
	return o.lines.of(lineOf(o.node, key))
}
