// Package inspect is the service that people and scripts look inside a server with: leadsman.v1.Inspector. It reads
// what the scaler knows, narrows it to what the caller is granted, and puts it into messages; it decides nothing
// and starts no goroutine. With reflection and a token, grpcurl needs no proto file to use it.
//
// Beside it is leadsman.v1.Signals, by which a producer of any kind says that it has enqueued.
package inspect

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/leadsman/leadsman/internal/spell"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage/driver"
)

// Sizes of answers.
const (
	maxNear     = 5
	defaultPage = 100
	maxPage     = 1000
)

// Register adds the Inspector and Signals to a server. It is called before the server's Run.
func Register(s *scaler.Server) {
	s.RegisterService(&leadsmanv1.Inspector_ServiceDesc, &service{scaler: s})
	s.RegisterService(&leadsmanv1.Signals_ServiceDesc, &signals{scaler: s})
}

type service struct {
	leadsmanv1.UnimplementedInspectorServer

	scaler *scaler.Server
}

// ListSources implements the Inspector.
func (s *service) ListSources(ctx context.Context, _ *leadsmanv1.ListSourcesRequest) (*leadsmanv1.ListSourcesResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	sources := s.scaler.Sources(id)
	out := &leadsmanv1.ListSourcesResponse{Sources: make([]*leadsmanv1.Source, len(sources))}
	for i := range sources {
		out.Sources[i] = sourceMessage(&sources[i])
	}
	return out, nil
}

// ListQueues implements the Inspector.
func (s *service) ListQueues(ctx context.Context, req *leadsmanv1.ListQueuesRequest) (*leadsmanv1.ListQueuesResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	from, most, err := pageOf(req)
	if err != nil {
		return nil, err
	}
	view, err := s.scaler.Queues(ctx, id, req.GetSource(), "")
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	slices.SortFunc(view.Queues, func(a, b driver.Queue) int { return cmp.Compare(a.Name, b.Name) })
	total := len(view.Queues)
	out := &leadsmanv1.ListQueuesResponse{NextPageToken: after(from, most, total), Total: int32(total)} //nolint:gosec // queues fit
	from = min(from, total)
	view.Queues = view.Queues[from:min(from+most, total)]
	out.Queues = queueMessages(&view)
	return out, nil
}

// GetQueue implements the Inspector.
func (s *service) GetQueue(ctx context.Context, req *leadsmanv1.GetQueueRequest) (*leadsmanv1.GetQueueResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	if req.GetQueue() == "" {
		return nil, errNoQueue
	}
	view, err := s.scaler.Queues(ctx, id, req.GetSource(), req.GetQueue())
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	out := &leadsmanv1.GetQueueResponse{Queue: queueMessages(&view)[0]}
	if !out.GetQueue().GetKnown() {
		// Names to compare with are a help: without them the answer is right all the same.
		if all, err := s.scaler.Queues(ctx, id, req.GetSource(), ""); err == nil {
			out.NearNames = spell.Near(req.GetQueue(), names(all.Queues), maxNear)
		}
	}
	return out, nil
}

var errNoQueue = status.Error(codes.InvalidArgument, "queue is empty: name a queue; ListQueues lists them")

// WatchQueue implements the Inspector.
func (s *service) WatchQueue(req *leadsmanv1.WatchQueueRequest, stream grpc.ServerStreamingServer[leadsmanv1.WatchQueueResponse]) error {
	ctx := stream.Context()
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return s.scaler.Status(err)
	}
	if req.GetQueue() == "" {
		return errNoQueue
	}
	var last *leadsmanv1.WatchQueueResponse
	return s.scaler.Status(s.scaler.WatchQueue(ctx, id, req.GetSource(), req.GetQueue(), func(view scaler.QueueView, err error) error {
		if err := s.mayWatch(ctx, view.Source, req.GetQueue()); err != nil {
			return err
		}
		next := watched(&view, err)
		if last != nil && same(last, next) {
			return nil
		}
		last = next
		return stream.Send(next)
	}))
}

// mayWatch tells whether the caller may still see the queue: tokens are revoked and narrowed while streams are open.
func (s *service) mayWatch(ctx context.Context, source, queue string) error {
	id, err := s.scaler.Identify(ctx)
	switch {
	case err != nil:
		return err // Status takes it as it is
	case !id.Source(source):
		return id.Denied("source", source) // likewise
	case !id.Queue(queue):
		return id.Denied("queue", queue) // likewise
	default:
		return nil
	}
}

// watched is what a WatchQueue stream says of one read.
func watched(view *scaler.QueueView, err error) *leadsmanv1.WatchQueueResponse {
	if err != nil {
		return &leadsmanv1.WatchQueueResponse{Error: err.Error()}
	}
	queue := queueMessages(view)[0]
	return &leadsmanv1.WatchQueueResponse{Queue: queue, Active: queue.GetReady()+queue.GetRunning() > 0}
}

// same tells whether two messages say the same, whenever they were read and however the ages in them have grown.
func same(a, b *leadsmanv1.WatchQueueResponse) bool {
	still := func(m *leadsmanv1.WatchQueueResponse) *leadsmanv1.WatchQueueResponse {
		m = proto.CloneOf(m)
		if q := m.GetQueue(); q != nil {
			q.SampledAt, q.Oldest, q.NextDue = nil, nil, nil
		}
		return m
	}
	return proto.Equal(still(a), still(b))
}

// ListTriggers implements the Inspector.
func (s *service) ListTriggers(ctx context.Context, req *leadsmanv1.ListTriggersRequest) (*leadsmanv1.ListTriggersResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	from, most, err := pageOf(req)
	if err != nil {
		return nil, err
	}
	page, total := s.scaler.TriggersFrom(id, from, most)
	out := &leadsmanv1.ListTriggersResponse{NextPageToken: after(from, most, total), Total: int32(total)} //nolint:gosec // triggers fit
	for i := range page {
		out.Triggers = append(out.Triggers, triggerMessage(&page[i]))
	}
	return out, nil
}

// Explain implements the Inspector.
func (s *service) Explain(ctx context.Context, req *leadsmanv1.ExplainRequest) (*leadsmanv1.ExplainResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	at := scaler.Situation{
		Namespace: req.GetNamespace(),
		Current:   req.GetCurrentReplicas(), Min: req.GetMinReplicas(), Max: req.GetMaxReplicas(),
	}
	if at.Current < 0 || at.Min < 0 || at.Max < 0 || at.Max != 0 && at.Max < at.Min {
		return nil, status.Error(codes.InvalidArgument,
			"replicas: give current_replicas, min_replicas and max_replicas of 0 or more, the maximum not below the minimum")
	}
	switch req.GetMetricType() {
	case "", "AverageValue":
	case "Value":
		at.Multiplied = true
	default:
		return nil, status.Error(codes.InvalidArgument, "metric_type: give AverageValue or Value; KEDA refuses others here")
	}
	if over := req.GetMetricsApi(); over != nil {
		return s.explainHTTP(ctx, id, req, over, at)
	}
	e, err := s.scaler.Explain(ctx, id, req.GetMetadata(), at)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	return explainMessage(&e, e.Query.Target), nil
}

// explainHTTP explains a trigger that asks over HTTP.
func (s *service) explainHTTP(
	ctx context.Context, id scaler.Identity, req *leadsmanv1.ExplainRequest, over *leadsmanv1.MetricsAPI, at scaler.Situation,
) (*leadsmanv1.ExplainResponse, error) {
	target, activation := over.GetTargetValue(), over.GetActivationTargetValue()
	switch {
	case len(req.GetMetadata()) > 0:
		return nil, status.Error(codes.InvalidArgument, "metadata: leave it out beside metrics_api, whose url holds it")
	case !(target > 0) || math.IsInf(target, 1):
		return nil, status.Error(codes.InvalidArgument, "metrics_api.target_value: give a number above 0; KEDA refuses the trigger")
	case math.IsNaN(activation):
		return nil, status.Error(codes.InvalidArgument, "metrics_api.activation_target_value: give a number")
	}
	e, err := web.Explain(ctx, s.scaler, id, web.MetricsAPI{
		URL: over.GetUrl(), Location: over.GetValueLocation(), Target: target, Activation: activation,
	}, at)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	return explainMessage(&e, target), nil
}

func names(queues []driver.Queue) []string {
	out := make([]string, len(queues))
	for i := range queues {
		out[i] = queues[i].Name
	}
	return out
}

// A listing is a request for one page of a sorted list. A token is where the page begins: when the list changes
// meanwhile, an element may show twice or not at all, as in any live listing.
type listing interface {
	GetPageSize() int32
	GetPageToken() string
}

// pageOf returns where a page begins and how many elements it has at most.
func pageOf(req listing) (from, most int, err error) {
	if token := req.GetPageToken(); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 {
			return 0, 0, status.Error(codes.InvalidArgument, "page_token: give the next_page_token of the page before")
		}
	}
	switch size := req.GetPageSize(); {
	case size < 0:
		return 0, 0, status.Error(codes.InvalidArgument, "page_size: give 0 for the default, or a positive number")
	case size == 0:
		return from, defaultPage, nil
	default:
		return from, int(min(size, maxPage)), nil
	}
}

// after is the token of the page after one; "" when there is none.
func after(from, most, total int) string {
	if from >= total || most >= total-from {
		return ""
	}
	return strconv.Itoa(from + most)
}
