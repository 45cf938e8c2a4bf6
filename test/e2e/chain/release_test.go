package chain

import (
	"crypto/tls"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/credentials"

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

// tlsConfig is a configuration with TLS whose client certificates may read.
const tlsConfig = `
grpc: {tls: {certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt}}
clients: [{id: keda, san: "` + operator + `", scopes: [read]}]
`

// operator is the name in the certificate of KEDA's operator.
const operator = "spiffe://cluster/ns/keda/sa/keda-operator"

// certify gives the replicas certificates of an authority for the names of their Services, and has them trust its clients.
func (r *release) certify(ca *rig.Authority) {
	for _, replica := range r.replicas {
		// Health is open to everybody; that the certificate is right is for KEDA to see.
		replica.Credentials = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
		replica.Certify(ca.Server(r.Service()), ca.PEM)
	}
}
