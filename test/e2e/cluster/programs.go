package cluster

import (
	"path/filepath"
	"strconv"
)

// Addresses of the cluster's programs. The namespace is theirs alone.
const (
	etcdURL        = "http://127.0.0.1:2379"
	apiServerURL   = "https://127.0.0.1:6443"
	operatorHealth = "http://127.0.0.1:8081/readyz"
	managerHealth  = "https://127.0.0.1:10257/healthz"
	adapterPort    = 6444
)

// syncPeriod is how often an HPA looks. A cluster's default is 15 s; whoever waits for replicas does not need that twice.
const syncPeriod = "2s"

func (c *Cluster) etcd() *program {
	return c.program("etcd", "server", nil,
		"--data-dir", filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
		"--initial-cluster", "default=http://127.0.0.1:2380")
}

func (c *Cluster) apiServer() *program {
	return c.program("kube-apiserver", "kube-apiserver", nil,
		"--etcd-servers", etcdURL, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", "6443",
		"--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.0.0.0/24",
		"--tls-cert-file", c.pki.path("apiserver.crt"), "--tls-private-key-file", c.pki.path("apiserver.key"),
		"--client-ca-file", c.pki.path("ca.crt"), "--authorization-mode", "RBAC",
		// No controller makes the service accounts that Pods would get.
		"--disable-admission-plugins", "ServiceAccount",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", c.pki.path("sa.pub"), "--service-account-signing-key-file", c.pki.path("sa.key"),
		// How it speaks to KEDA's adapter on behalf of others.
		"--requestheader-client-ca-file", c.pki.path("ca.crt"), "--requestheader-allowed-names", "front-proxy-client",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-", "--requestheader-group-headers", "X-Remote-Group",
		"--requestheader-username-headers", "X-Remote-User",
		"--proxy-client-cert-file", c.pki.path("front-proxy.crt"), "--proxy-client-key-file", c.pki.path("front-proxy.key"),
		"--profiling=false")
}

func (c *Cluster) controllerManager() *program {
	return c.program("kube-controller-manager", "kube-controller-manager", nil,
		"--kubeconfig", c.Kubeconfig, "--bind-address", "127.0.0.1", "--leader-elect=false",
		"--authentication-kubeconfig", c.Kubeconfig, "--authorization-kubeconfig", c.Kubeconfig,
		"--controllers", "deployment-controller,replicaset-controller,job-controller,"+
			"horizontal-pod-autoscaler-controller,garbage-collector-controller",
		"--horizontal-pod-autoscaler-sync-period", syncPeriod, "--profiling=false")
}

func (c *Cluster) kedaOperator() *program {
	return c.program("keda-operator", "operator",
		[]string{
			"KUBECONFIG=" + c.Kubeconfig, "WATCH_NAMESPACE=", "KEDA_CLUSTER_OBJECT_NAMESPACE=" + kedaNamespace,
			"POD_NAMESPACE=" + kedaNamespace,
		},
		"--metrics-bind-address", "127.0.0.1:8080", "--health-probe-bind-address", "127.0.0.1:8081",
		"--metrics-service-bind-address", "127.0.0.1:9666", "--cert-dir", c.pki.dir)
}

func (c *Cluster) kedaAdapter() *program {
	return c.program("keda-adapter", "adapter",
		[]string{"KUBECONFIG=" + c.Kubeconfig, "WATCH_NAMESPACE=", "POD_NAMESPACE=" + kedaNamespace},
		"--secure-port", strconv.Itoa(adapterPort), "--bind-address", "127.0.0.1", "--port", "8082", "--cert-dir", c.pki.dir,
		"--tls-cert-file", c.pki.path("tls.crt"), "--tls-private-key-file", c.pki.path("tls.key"),
		"--client-ca-file", c.pki.path("ca.crt"), "--lister-kubeconfig", c.Kubeconfig,
		"--authentication-kubeconfig", c.Kubeconfig, "--authorization-kubeconfig", c.Kubeconfig,
		"--metrics-service-address", "127.0.0.1:9666")
}

func (c *Cluster) program(name, binary string, env []string, args ...string) *program {
	return &program{
		name: name, path: filepath.Join(c.programs, binary), args: args, env: env,
		log: filepath.Join(c.logs, name+".log"),
	}
}
