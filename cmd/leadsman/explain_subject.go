package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/leadsman/leadsman/internal/kube"
)

// subjects makes what can be explained of the objects. namespace is for those that name none.
func (m *explainDocuments) subjects(env map[string]string, namespace string) []subject {
	all := make([]subject, len(m.scaled))
	for i, object := range m.scaled {
		s := &all[i]
		*s = subject{kind: object.Kind, namespace: object.Metadata.Namespace, name: object.Metadata.Name, remarks: remarksOn(object)}
		if s.namespace == "" {
			s.namespace = namespace
		}
		if object.Spec.MinReplicaCount != nil {
			s.min = *object.Spec.MinReplicaCount
		}
		if object.Spec.MaxReplicaCount != nil {
			s.max = *object.Spec.MaxReplicaCount
		}
		environment := m.environment(object, env)
		for j := range object.Spec.Triggers {
			s.triggers = append(s.triggers, newSubjectTrigger(&object.Spec.Triggers[j], j, object.Kind, environment))
		}
	}
	return all
}

// remarksOn says what decides the number of replicas besides the triggers.
func remarksOn(object *kube.Object) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	spec := &object.Spec
	for _, key := range slices.Sorted(maps.Keys(object.Metadata.Annotations)) {
		if strings.HasPrefix(key, "autoscaling.keda.sh/paused") && object.Metadata.Annotations[key] != "false" {
			add("paused by the annotation %s: KEDA changes nothing", key)
		}
	}
	if spec.IdleReplicaCount != nil {
		add("idleReplicaCount: %d replicas while no trigger is active, and at least minReplicaCount at once when one is",
			*spec.IdleReplicaCount)
	}
	if spec.Advanced.ScalingModifiers.Formula != "" {
		add("scalingModifiers: the formula decides the value; it is not computed here")
	}
	if object.Kind != kube.KindScaledJob {
		return all
	}
	switch strategy := spec.ScalingStrategy.Strategy; strategy {
	case "", "default":
		add("a ScaledJob: KEDA starts that many Jobs, less those that have not finished (strategy default)")
	case "accurate":
		add("a ScaledJob: KEDA starts that many Jobs, less those that are pending (strategy accurate)")
	default:
		add("a ScaledJob: how many of these Jobs KEDA starts is for the strategy %s", strategy)
	}
	return all
}

// remarkOnAddress says that KEDA may ask another server than the one that answers here: which is behind a name or a
// forwarded port cannot be told.
func (s *subject) remarkOnAddress(asked string) {
	var others []string
	for i := range s.triggers {
		address := s.triggers[i].metadata["scalerAddress"]
		if address != "" && address != asked && !slices.Contains(others, address) {
			others = append(others, address)
		}
	}
	if len(others) > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("scalerAddress: KEDA asks %s; %s, asked here, need not be the same server",
			strings.Join(others, ", "), asked))
	}
}

// newSubjectTrigger makes the metadata of a trigger what KEDA would make of it, and says what cannot be known.
func newSubjectTrigger(t *kube.Trigger, index int, kind string, env *environment) subjectTrigger {
	out := subjectTrigger{index: index, kind: t.Type, name: t.Name, metadata: map[string]string{}}
	if t.Type != "external" && t.Type != "external-push" {
		out.skipped = fmt.Sprintf("type %s: KEDA asks no external scaler about it", t.Type)
		if t.Type == "metrics-api" || t.Type == "prometheus" {
			out.skipped += "; leadsman doctor -f reads what it asks"
		}
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value, ok := t.Metadata[key].(string)
		if !ok {
			out.failure = fmt.Sprintf("metadata.%s must be text, not %s: the API server refuses it; put it into quotes",
				key, kindOf(t.Metadata[key]))
			return out
		}
		out.take(key, value, env)
	}
	if out.metadata["scalerAddress"] == "" {
		out.remarkf("scalerAddress: is missing, and KEDA refuses the trigger without it")
	}
	if t.AuthenticationRef != nil {
		out.remarkf("authenticationRef: KEDA uses %s for TLS alone; nothing else of it reaches leadsman", t.AuthenticationRef.Name)
	}
	if t.MetricType == "Value" {
		out.remarkf("metricType Value: the HPA multiplies the replicas there are by value/target; those shown are for AverageValue")
	}
	if t.Type == "external-push" && kind == kube.KindScaledJob {
		out.remarkf("external-push: KEDA ignores pushes for a ScaledJob, and asks each pollingInterval; use external")
	}
	return out
}

// take takes one key as KEDA would send it. Tokens stay here: who explains is known by a credential of their own.
func (t *subjectTrigger) take(key, value string, env *environment) {
	name, fromEnv := strings.CutSuffix(key, "FromEnv")
	switch {
	case name == "token" && fromEnv:
		t.remarkf("%s: the token is not known here; what it is granted may be less than what yours is", key)
	case name == "token":
		t.remarkf("token: it is neither checked nor sent (leadsman token check does); tokenFromEnv would keep it out of the manifest")
	case fromEnv:
		value, why := env.lookup(value)
		if why == "" {
			t.metadata[key] = value
		} else {
			t.remarkf("%s: %s", key, why)
		}
	default:
		t.metadata[key] = value
	}
}

func (t *subjectTrigger) remarkf(format string, args ...any) {
	t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
}

// kindOf names what YAML made of a value.
func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "empty"
	case json.Number, bool:
		return fmt.Sprint(value)
	default:
		return kind(value)
	}
}

// refused tells whether a call failed for what it asked: another trigger may do better.
func refused(err error) bool {
	switch codeOf(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition, codes.ResourceExhausted:
		return !lacksScope(err)
	default:
		return false
	}
}
