// Package manifest makes the Kubernetes objects that scale a worker by its queue, of a short spec: a ScaledObject or a
// ScaledJob of KEDA with what it authenticates by, or what Prometheus, prometheus-adapter and a HorizontalPodAutoscaler
// need instead.
//
// The way is spec → objects → text, and it is pure: no cluster, no file, no clock. [Parse] reads the documents of a
// spec and says all that is wrong with them at once, by line; [Generate] makes the objects; [WriteYAML] and
// [WriteJSON] write them. The objects are small structs of this package that have just the fields that are set here:
// the client libraries of Kubernetes would be the greater part of the binary. That the objects are what Kubernetes and
// KEDA take is tested against their own types, in test/e2e.
//
// What people get wrong is not left to defaults. It is written down, with a comment that says why: the cooldown that
// is about the last replica only, the window that keeps a worker from being shot between two bursts, the fallback that
// keeps an outage from looking like an empty queue.
//
// Everything is bound to a namespace. KEDA's objects are in the worker's own, and name nothing outside of it but the
// server; what Prometheus records carries the worker's namespace as a label, and the adapter adds that of the
// HorizontalPodAutoscaler which asks to every query. So no rule of one tenant reaches the queues of another.
package manifest

// An Object is one Kubernetes object, ready to be written.
type Object struct {
	// Body has yaml tags.
	Body any
	// Head stands above the object as a comment, and each of Notes above the key at its dotted path, such as
	// "spec.cooldownPeriod".
	Head  string
	Notes map[string]string

	id identity
}

// An identity is what the API server tells objects apart by.
type identity struct{ kind, namespace, name string }

// Generate makes the objects of all specs, what several of them share once.
func Generate(specs []Spec) []Object {
	var all []Object
	seen := map[identity]bool{}
	for i := range specs {
		for _, object := range specs[i].objects() {
			if !seen[object.id] {
				seen[object.id] = true
				all = append(all, object)
			}
		}
	}
	return all
}

// objects makes those of one spec, in the order in which they are needed.
func (s *Spec) objects() []Object {
	if s.Mode == ModePrometheusHPA {
		return s.prometheusObjects()
	}
	var all []Object
	if auth, ok := s.triggerAuthentication(); ok {
		all = append(all, auth)
	}
	if s.Mode == ModeScaledJob {
		return append(all, s.scaledJob())
	}
	return append(all, s.scaledObject())
}

// A header is how every object begins.
type header struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
}

type metadata struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

func (h *header) identity() identity { return identity{h.Kind, h.Metadata.Namespace, h.Metadata.Name} }

// header makes the header of an object beside the worker.
func (s *Spec) header(apiVersion, kind, name string) header {
	return header{APIVersion: apiVersion, Kind: kind, Metadata: metadata{Name: name, Namespace: s.Namespace}}
}

// serverHeader makes the header of an object beside leadsman.
func (s *Spec) serverHeader(apiVersion, kind, name string) header {
	h := header{APIVersion: apiVersion, Kind: kind, Metadata: metadata{Name: name, Namespace: s.Server.Namespace}}
	if len(s.Prometheus.Labels) > 0 {
		h.Metadata.Labels = s.Prometheus.Labels
	}
	return h
}
