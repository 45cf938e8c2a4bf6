package chain

import (
	"context"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A kubelet stands in for those of nodes that there are none of: it tells the apiserver how the Pods of Jobs fare. What it
// tells the test says, which runs their processes. The controller of Jobs and KEDA know no difference.
type kubelet struct {
	t         *testing.T
	namespace string

	mu   sync.Mutex
	jobs map[types.UID]string // names of all that there were, those deleted meanwhile too
}

// newKubelet makes one for a namespace.
func newKubelet(t *testing.T, namespace string) *kubelet {
	t.Helper()
	k := &kubelet{t: t, namespace: namespace, jobs: map[types.UID]string{}}
	watched(t, &batchv1.JobList{}, namespace, func(event watch.Event) {
		if job, ok := event.Object.(*batchv1.Job); ok {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.jobs[job.UID] = job.Name
		}
	})
	return k
}

// created is how many Jobs there were so far.
func (k *kubelet) created() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.jobs)
}

// pending waits for a Pod whose process is not started, and returns it.
func (k *kubelet) pending() (pod *corev1.Pod) {
	k.t.Helper()
	rig.Eventually(k.t, settled, "a Job has a Pod that waits", func() bool {
		pods := &corev1.PodList{}
		if err := kube.Client.List(k.t.Context(), pods, client.InNamespace(k.namespace)); err != nil {
			k.t.Fatal(err)
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodPending {
				pod = &pods.Items[i]
				return true
			}
		}
		return false
	})
	return pod
}

// tells has a Pod in another phase.
func (k *kubelet) tells(pod *corev1.Pod, phase corev1.PodPhase) {
	k.t.Helper()
	before := pod.DeepCopy()
	pod.Status.Phase = phase
	if err := kube.Client.Status().Patch(context.WithoutCancel(k.t.Context()), pod, client.MergeFrom(before)); err != nil {
		k.t.Fatal(err)
	}
}

// completed is how many Jobs are, of those that KEDA has not deleted.
func (k *kubelet) completed() int {
	k.t.Helper()
	jobs := &batchv1.JobList{}
	if err := kube.Client.List(k.t.Context(), jobs, client.InNamespace(k.namespace)); err != nil {
		k.t.Fatal(err)
	}
	n := 0
	for i := range jobs.Items {
		if jobs.Items[i].Status.CompletionTime != nil {
			n++
		}
	}
	return n
}
