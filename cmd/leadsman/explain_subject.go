package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/leadsman/leadsman/internal/kube"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler/lint"
)

// The keys that say whom KEDA asks.
const (
	keyScalerAddress = "scalerAddress"
	keyURL           = "url"
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
			s.triggers = append(s.triggers, newSubjectTrigger(object, j, environment))
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
func (s *subject) remarkOnAddress(here string) {
	for _, key := range []string{keyScalerAddress, keyURL} {
		var others []string
		for i := range s.triggers {
			to := s.triggers[i].asked
			if to.key == key && to.address != here && !slices.Contains(others, to.address) {
				others = append(others, to.address)
			}
		}
		if len(others) > 0 {
			s.remarks = append(s.remarks, fmt.Sprintf("%s: KEDA asks %s; %s, asked here, need not be the same server",
				key, strings.Join(others, ", "), here))
		}
	}
}

// newSubjectTrigger makes the metadata of a trigger what KEDA would make of it, and says what cannot be known.
func newSubjectTrigger(object *kube.Object, index int, env *environment) subjectTrigger {
	t := &object.Spec.Triggers[index]
	out := subjectTrigger{index: index, kind: t.Type, name: t.Name, metric: t.MetricType}
	if t.Type != "external" && t.Type != "external-push" {
		out.read(object)
		return out
	}
	out.metadata = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value, ok := t.Metadata[key].(string)
		if !ok {
			out.failure = fmt.Sprintf("metadata.%s must be text, not %s: the API server refuses it; put it into quotes",
				key, kindOf(t.Metadata[key]))
			return out
		}
		out.take(key, value, env)
	}
	if address := out.metadata[keyScalerAddress]; address == "" {
		out.remarkf("scalerAddress: is missing, and KEDA refuses the trigger without it")
	} else {
		out.asked = asked{keyScalerAddress, address}
	}
	if t.AuthenticationRef != nil {
		out.remarkf("authenticationRef: KEDA uses %s for TLS alone; nothing else of it reaches leadsman", t.AuthenticationRef.Name)
	}
	if t.Type == "external-push" && object.Kind == kube.KindScaledJob {
		out.remarkf("external-push: KEDA ignores pushes for a ScaledJob, and asks each pollingInterval; use external")
	}
	return out
}

// read makes of a trigger that is not told by gRPC what KEDA makes of it: the linter reads it.
func (t *subjectTrigger) read(object *kube.Object) {
	reading := lint.Read(object, t.index)
	t.failure, t.remarks = reading.Refused, reading.Notes
	switch {
	case t.failure != "":
	case !reading.Ours:
		t.skipped = fmt.Sprintf("type %s: KEDA does not ask leadsman about it", t.kind)
	case reading.URL == "":
		t.skipped = reading.Series(t.kind)
	default:
		t.over = &leadsmanv1.MetricsAPI{
			Url: reading.URL, ValueLocation: reading.Location,
			TargetValue: reading.Target, ActivationTargetValue: reading.Activation,
		}
		t.asked = asked{keyURL, reading.Host()}
	}
}

// pairsTrigger makes a trigger of metadata alone, of which a URL says that it is for HTTP.
func pairsTrigger(pairs map[string]string) subjectTrigger {
	if _, ok := pairs[keyURL]; !ok {
		return subjectTrigger{metadata: pairs}
	}
	metadata := make(map[string]any, len(pairs))
	for key, value := range pairs {
		metadata[key] = value
	}
	object := &kube.Object{Spec: kube.Spec{Triggers: []kube.Trigger{{Type: "metrics-api", Metadata: metadata}}}}
	return newSubjectTrigger(object, 0, nil)
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
