package scaler_test

import (
	"log/slog"
	"testing"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// What a poll of KEDA's costs beside the sample, which all share.

func BenchmarkIsActive(b *testing.B) {
	bed := benched(b)
	mail := ref("queue", "mail", "target", "5")
	for b.Loop() {
		if _, err := bed.IsActive(b.Context(), mail); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetMetrics(b *testing.B) {
	bed := benched(b)
	req := &pb.GetMetricsRequest{ScaledObjectRef: ref("queue", "mail*", "metric", "ready")}
	for b.Loop() {
		if _, err := bed.GetMetrics(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIsActiveParallel is many objects on one connection, as KEDA has it.
func BenchmarkIsActiveParallel(b *testing.B) {
	bed := benched(b)
	b.RunParallel(func(p *testing.PB) {
		mail := ref("queue", "mail")
		for p.Next() {
			if _, err := bed.IsActive(b.Context(), mail); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benched(b *testing.B) *bed {
	b.Helper()
	store := memory.New()
	store.Enqueue("mail", 100)
	return serve(b, func(o *scaler.Options) { o.Logger, o.Metrics = slog.New(slog.DiscardHandler), prometheus.NewRegistry() }, source(b, "jobs", store))
}
