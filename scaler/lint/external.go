package lint

import (
	"errors"
	"net"
	"strings"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// readExternal parses the metadata as the server would, as far as it is known: a key that ends in FromEnv takes its value from
// the workload's environment, which KEDA reads.
func (l *Linter) readExternal(o *object, t *readTrigger) {
	parsed := make(map[string]string, len(t.given))
	anySource := ""
	for key, value := range t.given {
		switch {
		case !query.FromEnv(key) || !query.Known(key):
			parsed[key] = value
		case key == "sourceFromEnv" && !t.plain("source"):
			anySource = "from-the-environment"
		}
	}
	sources := l.sources(strings.TrimSpace(t.given["source"]))
	if anySource != "" {
		parsed["source"] = anySource
		sources = []query.Source{{Name: anySource}}
	}
	t.parse(parsed, sources, func(fault *query.Error) {
		path := t.path + ".metadata"
		if !strings.Contains(fault.Error(), "(not shown") || query.Known(fault.Key) {
			path = t.metadata(fault.Key)
		}
		found, remedy := split(fault.Message)
		o.fail(path, found, remedy)
	})
	o.checkAddress(t)
	if t.given["token"] != "" {
		o.warn(t.metadata("token"), "whoever may read the "+o.Kind+" reads the token",
			"put it into a Secret that the workload has as a variable, and write tokenFromEnv with the variable's name")
	}
	l.checkQueues(o, t)
}

// plain tells whether the metadata has a key as it is.
func (t *readTrigger) plain(key string) bool {
	_, ok := t.given[key]
	return ok
}

// parse makes the query of metadata. What is wrong is said, and left out for what can be said of the rest.
func (t *readTrigger) parse(metadata map[string]string, sources []query.Source, say func(*query.Error)) {
	var err error
	if t.query, err = query.Parse(metadata, sources); err != nil {
		for _, fault := range faults(err) {
			delete(metadata, fault.Key)
			say(fault)
		}
		t.query, err = query.Parse(metadata, sources)
	}
	t.ok = err == nil
}

// sources are those that a trigger may name. Where the server's are not known, the named one is taken for there.
func (l *Linter) sources(named string) []query.Source {
	if l.Sources == nil {
		return []query.Source{{Name: named}}
	}
	out := make([]query.Source, len(l.Sources))
	for i, s := range l.Sources {
		out[i] = query.Source{Name: s.Name, NoLookahead: s.NoLookahead, CountLimit: s.CountLimit}
	}
	return out
}

// faults are the several errors of Parse.
func faults(err error) []*query.Error {
	if one, ok := err.(*query.Error); ok { //nolint:errorlint // Parse returns it as it is, or several under one
		return []*query.Error{one}
	}
	var all []*query.Error
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, e := range several.Unwrap() {
			all = append(all, faults(e)...)
		}
	}
	return all
}

// split parts a message into what is wrong and what would be right.
func split(message string) (found, remedy string) {
	found, remedy, _ = strings.Cut(message, "; ")
	return found, remedy
}

func (o *object) checkAddress(t *readTrigger) {
	address := strings.TrimSpace(t.given["scalerAddress"])
	const right = "write host:port, such as leadsman.leadsman:50051"
	switch _, _, err := net.SplitHostPort(address); {
	case t.has("scalerAddress") && t.given["scalerAddress"] == "": // it comes from the environment, or has its finding
		if t.plain("scalerAddress") {
			o.fail(t.metadata("scalerAddress"), "is empty", right)
		}
	case address == "":
		o.fail(t.metadata("scalerAddress"), "is missing, and KEDA refuses the trigger", right)
	case strings.Contains(address, "://"):
		o.fail(t.metadata("scalerAddress"), "has a scheme, and gRPC takes none", right)
	case err != nil:
		o.fail(t.metadata("scalerAddress"), "has no port", right)
	}
}
