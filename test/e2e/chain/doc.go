// Package chain holds leadsman against a whole cluster: a job is enqueued by its library, and what is looked at is how many
// replicas a Deployment has. In between are the built leadsman, KEDA's operator and adapter, the apiserver and the autoscaler,
// all of them as they are released (package cluster). ScaledObjects are what `leadsman manifest` makes and what deploy/ has,
// applied by kubectl.
//
// Each test has a namespace, a queue and, where it needs one, an installation of leadsman of its own; all share the cluster and
// run side by side.
package chain
