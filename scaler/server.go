package scaler

import (
	"context"
	"slices"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler/internal/auth"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// service is KEDA's ExternalScaler.
type service struct {
	pb.UnimplementedExternalScalerServer

	*Server
}

// An asker is an admitted call: the query, the source it is for, and what is remembered of the trigger.
type asker struct {
	query   *query.Query // the trigger's, which does not change
	source  *source
	trigger *trigger
	expires time.Time // when the caller's credential does; zero for never
}

// maxObjectName is the longest name of an object of Kubernetes, in bytes. Names are remembered.
const maxObjectName = 253

// admit says who asks and what. It does no I/O.
func (s *Server) admit(ctx context.Context, ref *pb.ScaledObjectRef) (asker, error) {
	identity, err := s.access.Identify(ctx, ref.GetScalerMetadata())
	if err != nil {
		return asker{}, err
	}
	if max(len(ref.GetName()), len(ref.GetNamespace())) > maxObjectName {
		return asker{}, status.Errorf(codes.InvalidArgument,
			"the object's name or namespace is longer than Kubernetes allows, %d bytes", maxObjectName)
	}
	q, err := s.ask(identity, ref.GetNamespace(), ref.GetScalerMetadata())
	if err != nil {
		return asker{}, err
	}
	key := triggerKey{namespace: ref.GetNamespace(), name: ref.GetName(), query: q}
	t := s.triggers.get(key, time.Now())
	return asker{query: &t.key.query, source: s.sources[q.Source], trigger: t, expires: identity.Expires()}, nil
}

// ask parses metadata as somebody of this identity may ask it: sources that are not theirs do not exist for them.
func (s *Server) ask(id auth.Identity, namespace string, metadata map[string]string) (query.Query, error) {
	if !id.Namespace(namespace) {
		return query.Query{}, id.Denied("namespace", namespace)
	}
	q, err := query.Parse(metadata, s.visible(id))
	if err != nil {
		return query.Query{}, err // it names the key already
	}
	if pattern, ok := beyond(id, &q); ok {
		return query.Query{}, id.Denied("queue", pattern)
	}
	return q, nil
}

// beyond returns a queue, or a glob, that q asks for and id is not granted, if there is one.
func beyond(id auth.Identity, q *query.Query) (pattern string, found bool) {
	switch {
	case id.EveryQueue():
		return "", false
	case q.Queues == "":
		return "*", !id.QueuePattern("*")
	}
	for _, pattern := range q.Patterns() {
		if !id.QueuePattern(pattern) {
			return pattern, true
		}
	}
	return "", false
}

// visible returns the sources that an identity may ask about.
func (s *Server) visible(id auth.Identity) []query.Source {
	hidden := func(src query.Source) bool { return !id.Source(src.Name) }
	if !slices.ContainsFunc(s.asked, hidden) {
		return s.asked
	}
	return slices.DeleteFunc(slices.Clone(s.asked), hidden)
}

// look samples the asker's queues and decides.
func (s *Server) look(ctx context.Context, a *asker) (decision, error) {
	view, err := a.source.get(ctx, a.query)
	if err != nil {
		return decision{}, err
	}
	return decide(a.query, view.Queues), nil
}

// measure samples the asker's queues and returns the metric's value.
func (s *Server) measure(ctx context.Context, a *asker) (float64, error) {
	d, err := s.look(ctx, a)
	if err != nil {
		return 0, err
	}
	return d.value(a.query)
}

// IsActive tells KEDA whether there is anything to scale up for.
func (s service) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	a, err := s.admit(ctx, ref)
	if err != nil {
		return nil, s.status(err)
	}
	d, err := s.look(ctx, &a)
	now := time.Now()
	if err != nil {
		a.trigger.failed(now, err)
		return nil, s.status(err)
	}
	active := a.trigger.sawActivity(now, d.active)
	if !d.active {
		a.trigger.nudge()
	}
	a.trigger.answered(now, func(t *trigger) { t.active, t.activeAt = active, now })
	return &pb.IsActiveResponse{Result: active}, nil
}

// GetMetrics tells KEDA the value. KEDA calls it and IsActive as a pair: both answer from one sample.
func (s service) GetMetrics(ctx context.Context, req *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	a, err := s.admit(ctx, req.GetScaledObjectRef())
	if err != nil {
		return nil, s.status(err)
	}
	if !query.SameName(req.GetMetricName(), a.query.Name) {
		return nil, status.Errorf(codes.NotFound, "no metric %.100q here: the metric of this trigger is %q",
			req.GetMetricName(), a.query.Name)
	}
	value, err := s.measure(ctx, &a)
	now := time.Now()
	if err != nil {
		a.trigger.failed(now, err)
		return nil, s.status(err)
	}
	a.trigger.answered(now, func(t *trigger) { t.value, t.valueAt = value, now })
	return encodeValue(a.query, req.GetMetricName(), value), nil
}

// GetMetricSpec tells KEDA the metric's name and target, from the metadata alone: it answers also when every
// backend is down, because only then does KEDA's fallback work (keda#8056).
func (s service) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	a, err := s.admit(ctx, ref)
	if err != nil {
		return nil, s.status(err)
	}
	return encodeSpec(a.query), nil
}
