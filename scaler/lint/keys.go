package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/internal/spell"
)

// What the bounds are called.
const (
	keyMin = "minReplicaCount"
	keyMax = "maxReplicaCount"
)

// The keys that KEDA 2.21 knows in the places where people write them. A key that it does not know is dropped by the API
// server, with a warning at best.
var (
	scaledObjectKeys = []string{
		"scaleTargetRef", "pollingInterval", "initialCooldownPeriod", "cooldownPeriod", "idleReplicaCount", keyMin,
		keyMax, "advanced", "triggers", "fallback",
	}
	scaledJobKeys = []string{
		"jobTargetRef", "pollingInterval", "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "rolloutStrategy", "rollout",
		"envSourceContainerName", keyMin, keyMax, "scalingStrategy", "triggers",
	}
	triggerKeys  = []string{"type", "name", "useCachedMetrics", "metadata", "authenticationRef", "metricType"}
	targetKeys   = []string{"name", "apiVersion", "kind", "envSourceContainerName"}
	fallbackKeys = []string{"failureThreshold", "replicas", "behavior"}
	advancedKeys = []string{"horizontalPodAutoscalerConfig", "restoreToOriginalReplicaCount", "scalingModifiers"}
	strategyKeys = []string{
		"strategy", "customScalingQueueLengthDeduction", "customScalingRunningJobPercentage", "pendingPodConditions",
		"multipleScalersCalculation",
	}
	rolloutKeys = []string{"strategy", "propagationPolicy"}
)

// borrowed are keys of HPAs and workloads, and what they are called here.
var borrowed = map[string]string{
	"minReplicas": keyMin, "maxReplicas": keyMax, "minCount": keyMin, "maxCount": keyMax,
	"metrics": "triggers", "behavior": "advanced", "template": "jobTargetRef",
}

// checkKeys finds keys that KEDA would drop.
func (o *object) checkKeys() {
	known := scaledObjectKeys
	if o.Kind == kube.KindScaledJob {
		known = scaledJobKeys
	}
	o.strays("spec", o.Raw, known)
	for _, part := range []struct {
		key   string
		known []string
	}{
		{"scaleTargetRef", targetKeys},
		{"fallback", fallbackKeys},
		{"advanced", advancedKeys},
		{"scalingStrategy", strategyKeys},
		{"rollout", rolloutKeys},
	} {
		if keys, ok := o.Raw[part.key].(map[string]any); ok && slices.Contains(known, part.key) {
			o.strays("spec."+part.key, keys, part.known)
		}
	}
	triggers, _ := o.Raw["triggers"].([]any)
	for i, t := range triggers {
		if keys, ok := t.(map[string]any); ok {
			o.strays(fmt.Sprintf("spec.triggers[%d]", i), keys, triggerKeys)
		}
	}
}

func (o *object) strays(path string, keys map[string]any, known []string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(known, key) {
			continue
		}
		remedy := "remove it; known are " + strings.Join(known, ", ")
		if meant := cmp.Or(borrowed[key], spell.Nearest(key, known)); slices.Contains(known, meant) {
			remedy = "write " + meant
		}
		o.fail(path+"."+clip(key), "is no key of a "+o.Kind+", and the API server drops it", remedy)
	}
}

// clip keeps a key that nobody knows short.
func clip(key string) string {
	const longest = 48
	if len(key) > longest {
		return strings.ToValidUTF8(key[:longest], "") + "…"
	}
	return key
}
