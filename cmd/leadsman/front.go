package main

import (
	"context"
	"net"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/leadsman/leadsman/scaler/web"
)

// A front is what a node is over HTTP, listening already.
type front struct {
	web.Server

	listener net.Listener
}

// serve answers until ctx is done.
func (f *front) serve(ctx context.Context) error { return f.Serve(ctx, f.listener) }

// address is where it listens; "off" where there is no HTTP.
func (f *front) address() string {
	if f == nil {
		return httpOff
	}
	return f.listener.Addr().String()
}

// newRegistry makes the registry of a process's metrics.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "leadsman_build_info", Help: "The version of this leadsman; always 1.",
		ConstLabels: prometheus.Labels{"version": versionName(), "goversion": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
