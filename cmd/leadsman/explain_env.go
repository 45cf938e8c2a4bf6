package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
)

// An environment is what is known of a workload's, from which KEDA takes the values of keys that end in FromEnv.
type environment struct {
	given     map[string]string // by the command line; it comes first
	container *kube.Container   // nil when the workload is not known
	missing   string            // why it is not
}

// environment finds that of a scaled object: in a ScaledJob itself, or in its workload among the documents.
func (m *explainDocuments) environment(object *kube.Object, given map[string]string) *environment {
	env := &environment{given: given}
	ref := object.Spec.ScaleTargetRef
	containers, name := object.Spec.JobTargetRef.Template.Spec.Containers, object.Spec.Container
	if object.Kind != kube.KindScaledJob {
		if ref.Kind == "" {
			ref.Kind = kube.KindDeployment
		}
		containers, name = nil, ref.Container
		for _, w := range m.workloads {
			if w.Kind == ref.Kind && w.Metadata.Name == ref.Name && sameNamespace(w, object) {
				containers = w.Spec.Template.Spec.Containers
			}
		}
		env.missing = fmt.Sprintf("%s %s is not among the documents", ref.Kind, ref.Name)
	}
	at := 0 // KEDA takes the first container unless one is named
	if name != "" {
		at = slices.IndexFunc(containers, func(c kube.Container) bool { return c.Name == name })
		if len(containers) > 0 {
			env.missing = fmt.Sprintf("there is no container %s", name)
		}
	}
	if at >= 0 && at < len(containers) {
		env.container = &containers[at]
	}
	return env
}

// sameNamespace tells whether objects are of one, as far as they say.
func sameNamespace(a, b *kube.Object) bool {
	return a.Metadata.Namespace == b.Metadata.Namespace || a.Metadata.Namespace == "" || b.Metadata.Namespace == ""
}

// lookup returns the value that KEDA would send, or why there is none.
func (e *environment) lookup(name string) (value, why string) {
	if value, ok := e.given[name]; ok {
		if value == "" {
			return "", name + " is empty, so KEDA leaves the key out"
		}
		return value, ""
	}
	unknown := func(reason string) (string, string) {
		return "", fmt.Sprintf("%s is not known here (%s), and this is explained without it; give it by --env %s=…", name, reason, name)
	}
	if e.container == nil {
		return unknown(e.missing)
	}
	at := slices.IndexFunc(e.container.Env, func(v kube.Variable) bool { return v.Name == name })
	switch {
	case at < 0 && len(e.container.EnvFrom) > 0:
		return unknown("it may come by envFrom")
	case at < 0:
		return "", fmt.Sprintf("container %s has no variable %s, so KEDA leaves the key out", e.container.Name, name)
	}
	switch v := e.container.Env[at]; {
	case len(v.ValueFrom) > 0:
		return unknown("it comes by valueFrom")
	case strings.Contains(v.Value, "$("):
		return unknown("it is made of other variables")
	case v.Value == "":
		return "", name + " is empty, so KEDA leaves the key out"
	default:
		return v.Value, ""
	}
}
