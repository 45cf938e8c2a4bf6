package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// The kinds that scale.
const (
	kindScaledObject = "ScaledObject"
	kindScaledJob    = "ScaledJob"
	kindHPA          = "HorizontalPodAutoscaler"
	kindDeployment   = "Deployment"
)

// An object is what lint reads of a Kubernetes object.
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`

	file     string
	document int
	raw      map[string]any // the spec as it is written
	findings []Finding
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Annotations     map[string]string `json:"annotations"`
	Labels          map[string]string `json:"labels"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
	} `json:"ownerReferences"`
}

// A spec is that of each kind in one: no key has two meanings.
type spec struct {
	ScaleTargetRef   targetRef `json:"scaleTargetRef"`
	PollingInterval  *int32    `json:"pollingInterval"`
	CooldownPeriod   *int32    `json:"cooldownPeriod"`
	IdleReplicaCount *int32    `json:"idleReplicaCount"`
	MinReplicaCount  *int32    `json:"minReplicaCount"`
	MaxReplicaCount  *int32    `json:"maxReplicaCount"`
	Triggers         []trigger `json:"triggers"`
	Fallback         *struct{} `json:"fallback"`
	Advanced         struct {
		HPA struct {
			Name string `json:"name"`
		} `json:"horizontalPodAutoscalerConfig"`
	} `json:"advanced"`

	ScalingStrategy struct {
		Strategy string `json:"strategy"`
	} `json:"scalingStrategy"`
	Rollout struct {
		Strategy string `json:"strategy"`
	} `json:"rollout"`
	RolloutStrategy string `json:"rolloutStrategy"` // deprecated

	MinReplicas *int32      `json:"minReplicas"` // of an HPA, as are the next two
	MaxReplicas *int32      `json:"maxReplicas"`
	Metrics     []hpaMetric `json:"metrics"`

	Replicas *int32 `json:"replicas"` // of a workload, as is the next
	Template struct {
		Spec struct {
			Containers []struct{} `json:"containers"`
			Grace      *int64     `json:"terminationGracePeriodSeconds"`
		} `json:"spec"`
	} `json:"template"`
}

type targetRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type trigger struct {
	Type             string                     `json:"type"`
	MetricType       string                     `json:"metricType"`
	UseCachedMetrics bool                       `json:"useCachedMetrics"`
	Metadata         map[string]json.RawMessage `json:"metadata"`
}

type hpaMetric struct {
	External struct {
		Metric struct {
			Name string `json:"name"`
		} `json:"metric"`
		Target struct {
			Type string `json:"type"`
		} `json:"target"`
	} `json:"external"`
}

// decode reads an object, or the items of a List. What has a value of the wrong type is an object all the same, with a
// finding that says so.
func decode(data []byte) ([]*object, error) {
	var whole struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
		Spec  json.RawMessage   `json:"spec"`
	}
	o := &object{}
	err := json.Unmarshal(data, &whole)
	wrong, isWrong := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
	case isWrong && wrong.Field == "":
		return nil, fmt.Errorf("the document is %s, and must be an object", article(wrong.Value))
	case !isWrong:
		return nil, err
	}
	if strings.HasSuffix(whole.Kind, "List") && whole.Items != nil {
		var all []*object
		for _, item := range whole.Items {
			objects, err := decode(item)
			if err != nil {
				return all, err
			}
			all = append(all, objects...)
		}
		return all, nil
	}
	if string(data) == "null" {
		return nil, nil // nothing but comments
	}
	err = json.Unmarshal(data, o)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && o.scales() {
		o.say(driver.LevelFail, wrong.Field, "is "+article(wrong.Value), "write "+article(typeName(wrong)))
	}
	_ = json.Unmarshal(whole.Spec, &o.raw) // a spec that is no object has its finding
	return []*object{o}, nil
}

func typeName(wrong *json.UnmarshalTypeError) string {
	switch wrong.Type.Kind().String() {
	case "int32", "int64":
		return "integer without quotes"
	case "bool":
		return "true or false without quotes"
	case "string":
		return "text in quotes"
	case "slice":
		return "list"
	default:
		return "map of keys"
	}
}

func article(what string) string {
	switch {
	case strings.HasPrefix(what, "true"), strings.HasPrefix(what, "text"):
		return what
	case strings.ContainsAny(what[:1], "aeiou"):
		return "an " + what
	}
	return "a " + what
}

func (o *object) isHPA() bool {
	return o.Kind == kindHPA && strings.HasPrefix(o.APIVersion, "autoscaling/")
}

// scales tells whether lint looks at the object for its own sake.
func (o *object) scales() bool {
	return o.Kind == kindScaledObject || o.Kind == kindScaledJob || o.isHPA() && !o.kedas()
}

// kedas tells whether an HPA is the one that KEDA makes of a ScaledObject.
func (o *object) kedas() bool {
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Kind == kindScaledObject {
			return true
		}
	}
	return o.Metadata.Labels["app.kubernetes.io/managed-by"] == "keda-operator"
}

// title names the object for people.
func (o *object) title() string {
	name := o.Metadata.Name
	if o.Metadata.Namespace != "" {
		name = o.Metadata.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// say adds a finding. Where the object is, is added at the end.
func (o *object) say(level driver.Level, key, found, remedy string) {
	o.findings = append(o.findings, Finding{Key: key, Level: level, Found: found, Remedy: remedy})
}

func (o *object) fail(key, found, remedy string) { o.say(driver.LevelFail, key, found, remedy) }
func (o *object) warn(key, found, remedy string) { o.say(driver.LevelWarn, key, found, remedy) }
func (o *object) note(key, found, remedy string) { o.say(driver.LevelNote, key, found, remedy) }
