package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
)

// The keys that KEDA 2.21 reads for the triggers that reach leadsman by HTTP and by Prometheus, those of authentication among
// them (pkg/scalers/metrics_api_scaler.go, prometheus_scaler.go and authentication/authentication_types.go there). Another is
// reported in an event and has no effect, and so has one that ends in FromEnv: none of these scalers reads the environment.
var (
	authKeys       = []string{"authModes", "authMode", "apiKey", "method", "keyParamName"}
	metricsAPIKeys = append([]string{
		keyURL, keyLocation, "targetValue", "activationTargetValue", "format", "unsafeSsl", "timeout",
		"aggregateFromKubeServiceEndpoints", "aggregationType",
	}, authKeys...)
	prometheusKeys = append([]string{
		"serverAddress", keyQuery, "threshold", "activationThreshold", "namespace", "ignoreNullValues", "customHeaders",
		"queryParameters", "unsafeSsl", "timeout", "awsRegion", "identityOwner",
	}, authKeys...)
)

// checkParameters finds keys that KEDA does not read.
func (o *object) checkParameters(t *readTrigger, known []string) {
	for _, key := range slices.Sorted(maps.Keys(t.given)) {
		if slices.Contains(known, key) {
			continue
		}
		found, remedy := "is no key of a "+t.Type+" trigger, and KEDA does not read it", "remove it"
		plain, env := strings.CutSuffix(key, "FromEnv")
		switch meant := spell.Nearest(key, known); {
		case env && slices.Contains(known, plain):
			found, remedy = "KEDA takes nothing of a "+t.Type+" trigger from the environment, and does not read it", "write "+plain
		case meant != "":
			remedy = "write " + meant
		}
		o.warn(t.metadata(key), found, remedy)
	}
}

// value is a key's value as KEDA reads it: what is empty is not there.
func (t *readTrigger) value(key string) string { return strings.TrimSpace(t.given[key]) }

// number reads a number as KEDA does (setConfigValueHelper of pkg/scalers/scalersconfig/typed_config.go): it is JSON. ok is
// false where the key is not there, or has its finding.
func (o *object) number(t *readTrigger, key string) (n float64, ok bool) {
	text := t.value(key)
	if text == "" {
		return 0, false
	}
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		o.refuse(t.metadata(key), strconv.Quote(clip(text))+" is no number, and KEDA refuses the trigger",
			`write a decimal number, such as "5"`)
		return 0, false
	}
	return n, true
}

// least is the smallest target that is not 0 in thousandths, as KEDA hands it to the HPA (GetMetricTargetMili in
// pkg/scalers/scaler.go).
const least = 0.001

// checkTarget looks at what a replica is to handle, and returns it; 0 where it is not to be known.
func (o *object) checkTarget(t *readTrigger, key string) float64 {
	target, ok := o.number(t, key)
	switch path := t.metadata(key); {
	case !ok && t.value(key) == "":
		o.refuse(path, "is missing, and KEDA refuses the trigger", `write how much of the value one replica is to handle, such as "5"`)
	case ok && target < least:
		o.refuse(path, fmt.Sprintf("%s is too small: the HPA gets 0 for a target, and the API server refuses that", t.value(key)),
			"write a number of 0.001 or more")
	case ok:
		t.target = target
	}
	return t.target
}

// checkActivation looks at what the value must exceed for KEDA to be active.
func (o *object) checkActivation(t *readTrigger, key string) float64 {
	activation, ok := o.number(t, key)
	t.activation = activation
	if ok && activation < 0 {
		o.fail(t.metadata(key), fmt.Sprintf("%s is below 0, which is always exceeded: the workload never goes to zero", t.value(key)),
			`write "0", or remove it`)
	}
	return max(activation, 0)
}

// truth reads a boolean as KEDA does.
func (o *object) truth(t *readTrigger, key string, byDefault bool) bool {
	text := t.value(key)
	if text == "" {
		return byDefault
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		o.refuse(t.metadata(key), strconv.Quote(clip(text))+" is neither true nor false, and KEDA refuses the trigger",
			`write "true" or "false"`)
		return byDefault
	}
	return v
}
