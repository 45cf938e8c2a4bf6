package peers

import (
	"context"
	"errors"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// databaseVariable is the worker's environment variable that has the database's URL: KEDA's trigger has it from there.
const databaseVariable = "DATABASE_URL"

// newNamespace makes a namespace for workers and clears it when the test ends.
func newNamespace(t *testing.T, name string) {
	t.Helper()
	if err := kube.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeWorkers(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
}

// newWorker makes a Deployment without replicas, and a ScaledObject of the same name with one trigger.
func newWorker(ctx context.Context, namespace, name, databaseURL string, every time.Duration, trigger kedav1alpha1.ScaleTriggers) error {
	meta, labels := metav1.ObjectMeta{Namespace: namespace, Name: name}, map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "worker", Image: "example.com/mailer:1", Env: []corev1.EnvVar{{Name: databaseVariable, Value: databaseURL}},
				}}},
			},
		},
	}
	scaled := &kedav1alpha1.ScaledObject{
		ObjectMeta: meta,
		Spec: kedav1alpha1.ScaledObjectSpec{
			ScaleTargetRef:  &kedav1alpha1.ScaleTarget{Name: name},
			PollingInterval: new(int32(every / time.Second)),
			MaxReplicaCount: new(int32(10)),
			Triggers:        []kedav1alpha1.ScaleTriggers{trigger},
		},
	}
	return errors.Join(kube.Client.Create(ctx, deployment), kube.Client.Create(ctx, scaled))
}

// removeWorkers deletes all workers of a namespace. It does not wait for KEDA, which finalizes a few ScaledObjects a second.
func removeWorkers(ctx context.Context, namespace string) error {
	in := client.InNamespace(namespace)
	var scaled kedav1alpha1.ScaledObjectList
	if err := errors.Join(
		kube.Client.DeleteAllOf(ctx, &kedav1alpha1.ScaledObject{}, in),
		kube.Client.DeleteAllOf(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, in),
		kube.Client.DeleteAllOf(ctx, &appsv1.Deployment{}, in),
		kube.Client.List(ctx, &scaled, in),
	); err != nil {
		return err
	}
	finalized := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for i := range scaled.Items {
		if err := client.IgnoreNotFound(kube.Client.Patch(ctx, &scaled.Items[i], finalized)); err != nil {
			return err
		}
	}
	return nil
}

// A worker is where a contender's clock stops: at the watch that says that it is to have a replica.
type worker struct {
	watch  *watcher
	name   string
	polled bool // only KEDA's polls wake it, so KEDA's polls say that there is no job any more
}

// reset leaves the worker without replicas, and nobody at work on the Deployment: KEDA gives up for a while when another writes
// to it in the same moment.
func (w *worker) reset(ctx context.Context) error {
	if w.polled {
		if _, err := w.watch.await(ctx, w.name, func(s sight) bool { return !s.active }); err != nil {
			return err
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.watch.namespace, Name: w.name}}
	none := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	if err := kube.Client.Patch(ctx, deployment, none); err != nil {
		return err
	}
	_, err := w.watch.await(ctx, w.name, func(s sight) bool { return s.replicas == 0 && s.reconciled })
	return err
}

// woken waits for a replica and returns when it was to be seen.
func (w *worker) woken(ctx context.Context) (time.Time, error) {
	s, err := w.watch.await(ctx, w.name, func(s sight) bool { return s.replicas > 0 })
	return s.since, err
}
