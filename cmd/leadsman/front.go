package main

import (
	"context"
	"net"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/scaler/web/page"
)

// A front is what a node is over HTTP, listening already.
type front struct {
	web.Server

	listener net.Listener
	page     *page.Page
}

// serve answers until ctx is done.
func (f *front) serve(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { f.page.Run(ctx) })
	defer keeping.Wait()
	defer end()
	return f.Serve(ctx, f.listener)
}

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
