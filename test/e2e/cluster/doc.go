// Package cluster runs a Kubernetes cluster without nodes on this machine, with KEDA in it: etcd, kube-apiserver, the
// controllers of Deployments, Jobs and HorizontalPodAutoscalers, and KEDA's operator and metrics adapter, each the program
// that its makers release, built from source by `go build tool`. What a ScaledObject leads to can be watched there to the
// end, the replicas of a Deployment. Pods stay pending: no kubelet starts them, and what is proved here does not need one.
//
// The kinds of Prometheus' operator and of cert-manager are there without the operators, so that the apiserver judges objects
// that are for them (kinds.go). A test may run Prometheus itself, by [Cluster.Command].
//
// [Main] wraps a TestMain. It builds the programs, which takes some 15 minutes the first time and none after that, and runs
// the tests in Linux namespaces of their own (namespace.go), so that no port, host name or process of the cluster is seen from
// outside, nor left behind, in whatever way the tests end.
package cluster
