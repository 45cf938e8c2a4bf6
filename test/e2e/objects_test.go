package e2e

import (
	"bytes"
	"regexp"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kinds makes, for each kind of object that leadsman ships or shows, an empty one of its type. Those of operators whose
// types are in no module here are looked at as they are.
var kinds = map[string]func() any{
	"apps/v1/Deployment":                      func() any { return &appsv1.Deployment{} },
	"autoscaling/v2/HorizontalPodAutoscaler":  func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"cert-manager.io/v1/Certificate":          func() any { return &unstructured.Unstructured{} },
	"keda.sh/v1alpha1/ScaledJob":              func() any { return &kedav1alpha1.ScaledJob{} },
	"keda.sh/v1alpha1/ScaledObject":           func() any { return &kedav1alpha1.ScaledObject{} },
	"keda.sh/v1alpha1/TriggerAuthentication":  func() any { return &kedav1alpha1.TriggerAuthentication{} },
	"monitoring.coreos.com/v1/PrometheusRule": func() any { return &monitoringv1.PrometheusRule{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() any { return &monitoringv1.ServiceMonitor{} },
	"networking.k8s.io/v1/NetworkPolicy":      func() any { return &networkingv1.NetworkPolicy{} },
	"policy/v1/PodDisruptionBudget":           func() any { return &policyv1.PodDisruptionBudget{} },
	"v1/ConfigMap":                            func() any { return &corev1.ConfigMap{} },
	"v1/Namespace":                            func() any { return &corev1.Namespace{} },
	"v1/Secret":                               func() any { return &corev1.Secret{} },
	"v1/Service":                              func() any { return &corev1.Service{} },
	"v1/ServiceAccount":                       func() any { return &corev1.ServiceAccount{} },
}

var betweenDocuments = regexp.MustCompile(`(?m)^---.*$`)

// decodeObjects decodes the documents of a YAML text into the types of their kinds, and fails the test for a field that
// the type does not have.
func decodeObjects(t *testing.T, name string, text []byte) []any {
	t.Helper()
	var objects []any
	for _, document := range betweenDocuments.Split(string(text), -1) {
		if len(bytes.TrimSpace([]byte(document))) == 0 {
			continue
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, document)
		}
		if meta.Kind == "" {
			continue // comments only
		}
		newObject, ok := kinds[meta.APIVersion+"/"+meta.Kind]
		if !ok {
			t.Errorf("%s: an object of %s/%s, which no test knows", name, meta.APIVersion, meta.Kind)
			continue
		}
		object := newObject()
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Errorf("%s: %v\n%s", name, err, document)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

// only returns the one object of a type.
func only[T any](t *testing.T, objects []any) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if of, ok := object.(T); ok {
			found = append(found, of)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}
