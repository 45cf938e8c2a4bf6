package query

import (
	"slices"
	"strings"
)

// Known tells whether Parse takes a key of this spelling, be it to ignore it. Whoever has metadata that KEDA has not
// resolved yet can tell by it a key whose value is not known from one that is wrong.
func Known(spelled string) bool {
	name := strings.TrimSuffix(spelled, suffixFromEnv)
	if slices.Contains(ignored[:], name) {
		return true
	}
	for k := range keys {
		if keys[k].name == name {
			return true
		}
	}
	return false
}

// FromEnv tells whether KEDA takes the value of a key from the workload's environment.
func FromEnv(spelled string) bool { return strings.HasSuffix(spelled, suffixFromEnv) }
