package chain

import (
	"sync/atomic"
	"testing"

	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A release is an installation of leadsman: replicas of one configuration behind the names of its Services.
type release struct {
	cluster.Release

	replicas []*rig.Server
}

// installed counts the releases; number 0 has the name that the manifests in deploy/ expect.
var installed atomic.Int32

// install starts leadsman with two replicas, as the chart does. It is gone when the test ends.
func install(t *testing.T, config string) *release {
	t.Helper()
	r := prepare(t, cluster.NewRelease(int(installed.Add(1))), config)
	for _, replica := range r.replicas {
		replica.Start()
	}
	return r
}

// prepare makes a release whose replicas are not started.
func prepare(t *testing.T, names cluster.Release, config string) *release {
	t.Helper()
	r := &release{Release: names}
	for _, host := range names.Hosts {
		replica := rig.NewServer(t)
		replica.GRPC, replica.HTTP = host+":50051", host+":8080"
		replica.Configure(config)
		r.replicas = append(r.replicas, replica)
	}
	return r
}
