package chain

import (
	"context"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched calls see with every state that an object of a kind in a namespace has, in order, from what there is now until the
// test ends. It polls nothing, so no state is missed. list is an empty list of the kind; see is called in a goroutine.
func watched(t *testing.T, list client.ObjectList, namespace string, see func(watch.Event)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w, err := kube.Client.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if event.Type != watch.Error {
				see(event)
			} else if ctx.Err() == nil { // our own end is an error, too
				t.Errorf("the watch of %T in %s: %v", list, namespace, event.Object)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		w.Stop()
		<-ended
	})
}

// A history is the numbers of replicas that a worker was to have, in order.
type history struct {
	mu   sync.Mutex
	seen []int32
}

// record keeps the worker's numbers of replicas from now on.
func (w *worker) record() *history {
	w.t.Helper()
	h := &history{}
	watched(w.t, &appsv1.DeploymentList{}, w.name.Namespace, func(event watch.Event) {
		if d, ok := event.Object.(*appsv1.Deployment); ok && d.Name == w.name.Name {
			h.add(*d.Spec.Replicas)
		}
	})
	return h
}

func (h *history) add(replicas int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) == 0 || h.seen[len(h.seen)-1] != replicas {
		h.seen = append(h.seen, replicas)
	}
}

// numbers are those so far, each other than the one before.
func (h *history) numbers() []int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}
