package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
)

// A workloadName is what two objects have in common that mean the same workload.
type workloadName struct{ namespace, kind, name string }

func nameOfTarget(o *object) workloadName {
	ref := o.Spec.ScaleTargetRef
	return workloadName{o.Metadata.Namespace, cmp.Or(ref.Kind, kube.KindDeployment), ref.Name}
}

// workloadsOf finds the objects that run pods.
func workloadsOf(objects []*object) map[workloadName]*object {
	workloads := map[workloadName]*object{}
	for _, o := range objects {
		if o.Workload() {
			workloads[workloadName{o.Metadata.Namespace, o.Kind, o.Metadata.Name}] = o
		}
	}
	return workloads
}

// defaultGrace is how long Kubernetes waits for a pod to end, in seconds.
const defaultGrace = 30

// checkWorkload looks at what a ScaledObject scales.
func (o *object) checkWorkload(w *object) {
	const key = "spec.scaleTargetRef"
	switch grace := w.Spec.Template.Spec.Grace; {
	case grace == nil:
		o.warn(key, fmt.Sprintf("%s has no terminationGracePeriodSeconds: a job is killed %d s after its replica was removed",
			w.Title(), defaultGrace),
			fmt.Sprintf("set it to as long as a job takes (%s), and let the worker finish its job on SIGTERM", place(w)))
	case *grace < defaultGrace:
		o.warn(key, fmt.Sprintf("%s has a terminationGracePeriodSeconds of %d: so long after its replica was removed, a job is killed",
			w.Title(), *grace),
			fmt.Sprintf("set it to as long as a job takes (%s)", place(w)))
	}
	if w.Spec.Replicas != nil {
		o.note(key, fmt.Sprintf("%s sets replicas: each time it is applied, the replicas jump to %d", w.Title(), *w.Spec.Replicas),
			"remove spec.replicas ("+place(w)+")")
	}
}

// place says where an object was read.
func place(o *object) string { return fmt.Sprintf("%s, document %d", o.file, o.Document) }

// checkRivals finds workloads that two autoscalers scale.
func checkRivals(objects []*object) {
	scaled := map[workloadName][]*object{}
	for _, o := range objects {
		if (o.Kind == kube.KindScaledObject || o.isHPA() && !o.kedas()) && o.Spec.ScaleTargetRef.Name != "" {
			name := nameOfTarget(o)
			scaled[name] = append(scaled[name], o)
		}
	}
	for name, rivals := range scaled {
		for _, o := range rivals {
			others := slices.DeleteFunc(slices.Clone(rivals), func(other *object) bool {
				return other == o || same(other, o) || handsOver(o, other) || handsOver(other, o)
			})
			if len(others) == 0 {
				continue
			}
			titles := make([]string, len(others))
			for i, other := range others {
				titles[i] = fmt.Sprintf("%s (%s)", other.Title(), place(other))
			}
			o.fail("spec.scaleTargetRef", fmt.Sprintf("%s %s is scaled by %s too, and they undo each other's work",
				name.kind, name.name, strings.Join(titles, ", ")),
				"put all triggers, cpu and memory too, into one ScaledObject, and delete the others")
		}
	}
}

// same tells whether two are one object, given twice.
func same(a, b *object) bool { return a.Title() == b.Title() }

// handsOver tells whether a ScaledObject takes over an HPA that was there before it.
func handsOver(o, hpa *object) bool {
	return o.Kind == kube.KindScaledObject && hpa.Kind == kube.KindHPA &&
		o.Metadata.Annotations["scaledobject.keda.sh/transfer-hpa-ownership"] == "true" &&
		o.Spec.Advanced.HPA.Name == hpa.Metadata.Name
}
