package cluster

import (
	"fmt"
	"strings"
)

// A Release is one installation of leadsman in namespace leadsman, as the chart makes it under a release's name. Each has
// loopback addresses of its own, two replicas' worth, under the names of its Services.
type Release struct {
	Name  string    // such as "leadsman"
	Hosts [2]string // of the replicas: addresses, without a port
}

// Service is the name of the headless Service, which has all replicas' addresses; of the one for HTTP too, which has them in a
// real cluster by way of one address.
func (r Release) Service() string { return r.Name + ".leadsman.svc" }

// GRPC is the address for scalerAddress.
func (r Release) GRPC() string { return r.Service() + ":50051" }

// HTTP is the address of the HTTP API.
func (r Release) HTTP() string { return r.Name + "-http.leadsman.svc:8080" }

// releases is how many installations have names.
const releases = 64

// NewRelease is the installation of a number below 64. Number 0 has the name that our manifests expect.
func NewRelease(n int) Release {
	if n < 0 || n >= releases {
		panic(fmt.Sprintf("release %d: there are %d", n, releases))
	}
	name := "leadsman"
	if n > 0 {
		name = fmt.Sprintf("leadsman-%d", n)
	}
	return Release{Name: name, Hosts: [2]string{fmt.Sprintf("127.1.%d.1", n), fmt.Sprintf("127.1.%d.2", n)}}
}

// PrometheusAddress is where Prometheus listens, if a test runs one: at the name that its operator gives it, which our manifests
// expect.
const PrometheusAddress = prometheusHost + ":9090"

const prometheusHost = "127.1.255.1"

// hostsFile is /etc/hosts: what a cluster's DNS would know.
func hostsFile() string {
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n" + prometheusHost + " prometheus-operated.monitoring.svc\n")
	for n := range releases {
		r := NewRelease(n)
		for _, host := range r.Hosts {
			fmt.Fprintf(&text, "%s %s %s-http.leadsman.svc\n", host, r.Service(), r.Name)
		}
	}
	return text.String()
}
