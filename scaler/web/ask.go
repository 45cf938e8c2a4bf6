package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// asker stands among the triggers for whoever asks over HTTP, where no object has a name. No object of Kubernetes
	// can have this one.
	asker = "GET /api/scaler"
	// maxPerQueue bounds the queues that an answer lists.
	maxPerQueue = 1000
)

// An answer is what /api/scaler says. It is flat, with plain numbers, so that KEDA's valueLocation is one word.
type answer struct {
	MetricName  string  `json:"metricName"`
	MetricValue float64 `json:"metricValue"`
	IsActive    bool    `json:"isActive"`
	// LiveWorkers and TotalCapacity are absent when the library keeps no registry of workers: nobody knows then.
	LiveWorkers      *int64  `json:"liveWorkers,omitempty"`
	TotalCapacity    *int64  `json:"totalCapacity,omitempty"`
	TargetQueueDepth float64 `json:"targetQueueDepth"`
	// WorkerUtilization is running jobs / capacity; absent without capacity.
	WorkerUtilization *float64              `json:"workerUtilization,omitempty"`
	PerQueue          map[string]queueState `json:"perQueue"`
	// PerQueueLeftOut counts queues that are in the value, but not listed because there are too many.
	PerQueueLeftOut int `json:"perQueueLeftOut,omitempty"`
	// StaleReason is why the last sample answers and not a new one; absent when all is well.
	StaleReason string `json:"staleReason,omitempty"`
}

// A queueState is one queue of an answer.
type queueState struct {
	Pending       int64   `json:"pending"` // another word for Ready
	Ready         int64   `json:"ready"`
	Running       int64   `json:"running"`
	Scheduled     int64   `json:"scheduled"`
	OldestSeconds float64 `json:"oldestSeconds"`
	Paused        bool    `json:"paused"`
}

// ask answers what a trigger of the request's metadata would be told.
func (h *handler) ask(w http.ResponseWriter, r *http.Request) {
	metadata, err := query.FromURL(r.URL)
	if err != nil {
		h.fail(w, invalid("%v", err))
		return
	}
	id, err := h.scaler.Identify(r.Context())
	if err != nil {
		h.fail(w, err)
		return
	}
	got, err := h.scaler.Ask(r.Context(), id, asker, metadata)
	if err != nil {
		h.fail(w, orNotFound(h.scaler, id, metadata["source"], err))
		return
	}
	reply(w, http.StatusOK, newBody(&got))
}

// orNotFound makes NotFound of an error about a source that does not exist for the caller.
func orNotFound(s *scaler.Server, id scaler.Identity, source string, err error) error {
	if source = strings.TrimSpace(source); source == "" {
		return err
	}
	named := func(st scaler.SourceStatus) bool { return st.Name == source }
	st := status.Convert(s.Status(err))
	if st.Code() != codes.InvalidArgument || slices.ContainsFunc(s.Sources(id), named) {
		return err
	}
	return status.Error(codes.NotFound, st.Message())
}

func newBody(got *scaler.Answer) answer {
	out := answer{
		MetricName: got.Query.Name, MetricValue: got.Value, IsActive: got.Active, TargetQueueDepth: got.Query.Target,
		PerQueue: make(map[string]queueState, min(len(got.Queues.Queues), maxPerQueue)),
	}
	if pool := got.Pool; pool != nil {
		out.LiveWorkers, out.TotalCapacity = &pool.Workers, &pool.Capacity
		if pool.Capacity > 0 {
			utilization := float64(got.Running) / float64(pool.Capacity)
			out.WorkerUtilization = &utilization
		}
	}
	if got.Queues.Stale != nil {
		out.StaleReason = got.Queues.Stale.Error()
	}
	queues := got.Queues.Queues
	if out.PerQueueLeftOut = max(0, len(queues)-maxPerQueue); out.PerQueueLeftOut > 0 {
		queues = slices.Clone(queues) // the sample is shared
		slices.SortFunc(queues, func(a, b driver.Queue) int { return strings.Compare(a.Name, b.Name) })
		queues = queues[:maxPerQueue]
	}
	for i := range queues {
		q := &queues[i]
		out.PerQueue[q.Name] = queueState{
			Pending: q.Ready, Ready: q.Ready, Running: q.Running, Scheduled: q.Scheduled,
			OldestSeconds: seconds(q.Oldest), Paused: q.Paused,
		}
	}
	return out
}

// seconds is d in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
