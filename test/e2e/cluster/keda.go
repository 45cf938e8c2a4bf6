package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const kedaNamespace = "keda"

// newClient knows the objects of Kubernetes and of KEDA.
func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, kedav1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// installKEDA creates what KEDA needs: its kinds, its namespace, and the way from the apiserver to its adapter.
func (c *Cluster) installKEDA(ctx context.Context) error {
	objects, err := kedaKinds()
	if err != nil {
		return err
	}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kedaNamespace}}, adapterService())
	for _, object := range objects {
		if err := c.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	api, err := c.externalMetrics()
	if err != nil {
		return err
	}
	return c.Client.Create(ctx, api)
}

// kedaKinds are KEDA's CustomResourceDefinitions, from its module.
func kedaKinds() ([]client.Object, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	if err != nil {
		return nil, fmt.Errorf("find KEDA's module: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("KEDA's module has no kinds: %w", err)
	}
	var kinds []client.Object
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, kind); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// adapterService leads to the adapter on this host: there are no Pods that a selector could choose.
func adapterService() client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: kedaNamespace, Name: "keda-metrics-apiserver"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
			Ports: []corev1.ServicePort{{Port: adapterPort}},
		},
	}
}

// externalMetrics has the apiserver serve external metrics by way of the adapter.
func (c *Cluster) externalMetrics() (client.Object, error) {
	ca, err := os.ReadFile(c.pki.path("ca.crt"))
	if err != nil {
		return nil, err
	}
	port := int32(adapterPort)
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.external.metrics.k8s.io"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "external.metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100,
			Service:  &apiregistrationv1.ServiceReference{Namespace: kedaNamespace, Name: "keda-metrics-apiserver", Port: &port},
			CABundle: ca,
		},
	}, nil
}
