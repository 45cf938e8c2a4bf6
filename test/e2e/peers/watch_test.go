package peers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A sight is what the apiserver has said last of a worker: of its Deployment and of its ScaledObject.
type sight struct {
	replicas   int32
	since      time.Time // when they were first seen to be so many
	reconciled bool      // the Deployment's controller has nothing left to do

	ready     bool // KEDA has the ScaledObject at work
	polled    bool // and has asked its trigger
	active    bool // with what it was told last
	hpaActive bool // and has seen the HorizontalPodAutoscaler look
}

// idle says that nobody has anything left to do about a worker without a job.
func (s sight) idle() bool {
	return s.reconciled && s.ready && s.polled && s.hpaActive && !s.active && s.replicas == 0
}

// A watcher follows all workers of a namespace. Its methods may be called by any goroutine.
type watcher struct {
	namespace string
	ended     chan error // has why a watch cannot be

	mu      sync.Mutex
	seen    map[string]sight
	changed chan struct{} // closed at the next change
}

// follow watches a namespace until the test ends.
func follow(t *testing.T, namespace string) *watcher {
	t.Helper()
	w := &watcher{namespace: namespace, ended: make(chan error, 2), seen: map[string]sight{}, changed: make(chan struct{})}
	var following sync.WaitGroup
	t.Cleanup(following.Wait) // the watches end with the test's context
	for _, kind := range []client.ObjectList{&appsv1.DeploymentList{}, &kedav1alpha1.ScaledObjectList{}} {
		following.Go(func() { w.ended <- w.watch(t.Context(), kind) })
	}
	return w
}

// watch takes note of all objects of a kind. The apiserver ends a watch whose client it finds slow; another one begins with
// all there is.
func (w *watcher) watch(ctx context.Context, kind client.ObjectList) error {
	for {
		events, err := kube.Client.Watch(ctx, kind, client.InNamespace(w.namespace))
		if err != nil {
			return err
		}
		w.take(events.ResultChan())
		events.Stop()
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// take notes events until there are no more.
func (w *watcher) take(events <-chan watch.Event) {
	for event := range events {
		at := time.Now()
		switch object := event.Object.(type) {
		case *appsv1.Deployment:
			w.note(object.Name, func(s *sight) {
				replicas := *object.Spec.Replicas
				if replicas != s.replicas || s.since.IsZero() {
					s.replicas, s.since = replicas, at
				}
				s.reconciled = object.Status.ObservedGeneration == object.Generation && object.Status.Replicas == replicas
			})
		case *kedav1alpha1.ScaledObject:
			conditions := object.Status.Conditions
			w.note(object.Name, func(s *sight) {
				s.ready = conditions.GetReadyCondition().Status == metav1.ConditionTrue
				s.active = conditions.GetActiveCondition().Status == metav1.ConditionTrue
				s.polled = s.active || conditions.GetActiveCondition().Status == metav1.ConditionFalse
				s.hpaActive = conditions.GetHPAActiveCondition().Status == metav1.ConditionTrue
			})
		}
	}
}

func (w *watcher) note(name string, change func(*sight)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.seen[name]
	change(&now)
	w.seen[name] = now
	close(w.changed)
	w.changed = make(chan struct{})
}

// await waits until a worker looks as it is wanted to.
func (w *watcher) await(ctx context.Context, name string, wanted func(sight) bool) (now sight, err error) {
	err = w.until(ctx, func() bool {
		now = w.seen[name]
		return wanted(now)
	})
	if err != nil {
		err = fmt.Errorf("%s/%s stays %+v: %w", w.namespace, name, now, err)
	}
	return now, err
}

// awaitAll waits until n workers look as they are wanted to.
func (w *watcher) awaitAll(ctx context.Context, n int, wanted func(sight) bool) error {
	found := 0
	err := w.until(ctx, func() bool {
		found = 0
		for _, now := range w.seen {
			if wanted(now) {
				found++
			}
		}
		return found >= n
	})
	if err != nil {
		err = fmt.Errorf("%d of %d workers in %s look as they should: %w", found, n, w.namespace, err)
	}
	return err
}

// until waits for a condition of what is seen.
func (w *watcher) until(ctx context.Context, met func() bool) error {
	for {
		w.mu.Lock()
		done, changed := met(), w.changed
		w.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case err := <-w.ended:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
