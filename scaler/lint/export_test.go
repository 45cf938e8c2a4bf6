package lint

import (
	"maps"
	"net/url"
	"slices"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// What the tests hold against a server.

// Series are the series with their labels, and the values of the label state.
func Series() (labels, values map[string][]string) { return maps.Clone(series), maps.Clone(states) }

// Locations are the keys of an answer, and those of a queue in it.
func Locations() (keys, ofQueue []string) {
	return slices.Sorted(slices.Values(answerKeys)), slices.Sorted(maps.Keys(queueKeys))
}

// NameOf is the name of the metric that a URL asks for, or what is wrong with it.
func NameOf(address string, sources []string) (name, fault string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err.Error()
	}
	metadata, err := query.FromURL(u)
	if err != nil {
		return "", err.Error()
	}
	known := make([]query.Source, len(sources))
	for i, source := range sources {
		known[i].Name = source
	}
	q, err := query.Parse(metadata, known)
	if err != nil {
		return "", err.Error()
	}
	return q.Name, ""
}
