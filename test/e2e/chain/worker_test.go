package chain

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// settled is the deadline for what the operator, the HPA and the controllers do between them. Most of it takes seconds on a
// machine with nothing else to do.
const settled = 90 * time.Second

// A worker is a Deployment, without replicas at first, that a ScaledObject of the same name scales.
type worker struct {
	t    *testing.T
	name types.NamespacedName
}

// newWorker makes a worker in a namespace of its own. All of it is gone when the test ends.
func newWorker(t *testing.T, env ...corev1.EnvVar) *worker {
	t.Helper()
	return newWorkerIn(t, newNamespace(t), "mailer", env...)
}

// newNamespace makes a namespace, which is gone when the test ends.
func newNamespace(t *testing.T) string {
	t.Helper()
	name := namespaceOf(t)
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

// namespaceOf is a name for the namespace of a test, another one each time it runs.
func namespaceOf(t *testing.T) string {
	name := strings.ToLower(notInNames.ReplaceAllString(t.Name(), "-"))
	return strings.Trim(name[:min(len(name), 40)], "-") + "-" + strings.ToLower(rand.Text()[:6])
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// newWorkerIn makes a worker in a namespace that there is.
func newWorkerIn(t *testing.T, namespace, name string, env ...corev1.EnvVar) *worker {
	t.Helper()
	w := &worker{t: t, name: types.NamespacedName{Namespace: namespace, Name: name}}
	labels := map[string]string{"app": name}
	create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "example.com/mailer:1", Env: env}}},
			},
		},
	})
	return w
}

// create creates an object and deletes it when the test ends.
func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := kube.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(kube.Client.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	})
}

// A spec is what `leadsman manifest` takes, by its keys.
type spec map[string]any

// scaled has leadsman make the manifests of a spec for the worker, and applies them by kubectl.
func (w *worker) scaled(by *release, s spec) {
	w.t.Helper()
	w.apply(w.manifests(by, s))
}

// manifests are what `leadsman manifest` makes for the worker.
func (w *worker) manifests(by *release, s spec) string {
	w.t.Helper()
	all := spec{
		"worker": w.name.Name, "namespace": w.name.Namespace, "source": "mail", "queue": "mail", "max": 30,
		"poll": "1s", "cooldown": "1s", "stabilization": "0s",
		"server": map[string]any{"address": by.GRPC(), "url": "http://" + by.HTTP()},
	}
	maps.Copy(all, s)
	return manifestsOf(w.t, all)
}

// manifestsOf are what `leadsman manifest` makes of a spec that leaves nothing to add.
func manifestsOf(t *testing.T, s spec) string {
	t.Helper()
	text, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return string(rig.Run(t, dir, "manifest", "-f", file))
}

// apply applies manifests and deletes what they made when the test ends.
func (w *worker) apply(manifests string) {
	w.t.Helper()
	apply(w.t, manifests)
}

// apply applies manifests by kubectl and deletes what they made when the test ends.
func apply(t *testing.T, manifests string) {
	t.Helper()
	kube.Kubectl(t, strings.NewReader(manifests), "apply", "-f", "-")
	t.Cleanup(func() {
		kube.Kubectl(t, strings.NewReader(manifests), "delete", "--ignore-not-found", "--wait=false", "-f", "-")
	})
}

// replicas is how many the worker is to have.
func (w *worker) replicas() int32 {
	w.t.Helper()
	d := &appsv1.Deployment{}
	if err := kube.Client.Get(context.Background(), w.name, d); err != nil {
		w.t.Fatal(err)
	}
	return *d.Spec.Replicas
}

// becomes waits until the worker is to have n replicas.
func (w *worker) becomes(n int32) {
	w.t.Helper()
	began := time.Now()
	last := int32(-1)
	for w.t.Context().Err() == nil {
		now := w.replicas()
		if now != last {
			w.t.Logf("%v after %v: replicas = %d", w.name, time.Since(began).Round(time.Millisecond), now)
			last = now
		}
		if now == n {
			return
		}
		if time.Since(began) > settled {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("replicas = %d for %s, want %d; the ScaledObject says: %s", last, settled, n, w.conditions())
}

// wakes enqueues a job in the queue of the worker's name and waits for its first replica.
func (w *worker) wakes(app *rig.RiverApp) {
	w.t.Helper()
	app.Enqueue(w.name.Name, 1)
	w.becomes(1)
}

// stays fails if the worker gets another number of replicas within a time.
func (w *worker) stays(n int32, d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got := w.replicas(); got != n {
			w.t.Fatalf("replicas = %d, want %d still; the ScaledObject says: %s", got, n, w.conditions())
		}
	}
}

// object is the worker's ScaledObject.
func (w *worker) object() *kedav1alpha1.ScaledObject {
	w.t.Helper()
	o := &kedav1alpha1.ScaledObject{}
	if err := kube.Client.Get(context.Background(), w.name, o); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// conditions are what the ScaledObject says of itself.
func (w *worker) conditions() string {
	text, err := yaml.Marshal(w.object().Status.Conditions)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ready waits until KEDA has the ScaledObject at work.
func (w *worker) ready() {
	w.t.Helper()
	rig.Eventually(w.t, settled, "the ScaledObject is ready", func() bool {
		return w.object().Status.Conditions.GetReadyCondition().Status == metav1.ConditionTrue
	})
}
