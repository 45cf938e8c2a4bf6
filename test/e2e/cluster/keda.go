package cluster

import (
	"context"
	"fmt"
	"os"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// installKEDA creates what KEDA needs beside its kinds: its namespace, and the way from the apiserver to its adapter.
func (c *Cluster) installKEDA(ctx context.Context) error {
	api, err := c.externalMetrics()
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kedaNamespace}}
	return c.create(ctx, namespace, adapterService(), api)
}

// create creates objects.
func (c *Cluster) create(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := c.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
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
