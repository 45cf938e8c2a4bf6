package web

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxScrapes bounds the scrapes under way at once: each gathers everything.
const maxScrapes = 8

// metrics shows what Prometheus scrapes. It is for those alone whose grant has no limits: a scrape tells of every
// source and queue.
func (h *handler) metrics(from prometheus.Gatherer) http.HandlerFunc {
	show := promhttp.HandlerFor(from, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // one bad series must not hide all the others
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
	})
	return func(w http.ResponseWriter, r *http.Request) {
		id, err := h.scaler.Identify(r.Context())
		if err == nil && !id.Everything() {
			err = status.Errorf(codes.PermissionDenied,
				"%s is limited to some sources, queues or namespaces, and metrics tell of all; use one without limits", id)
		}
		if err != nil {
			h.fail(w, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		show.ServeHTTP(w, r)
	}
}
