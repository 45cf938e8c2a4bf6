package scaler

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// calls counts the RPCs, under the names that dashboards know from other gRPC servers. KEDA makes two of them for
// each trigger and poll, so a good call finds its counters by one look into a map and takes no lock, where the usual
// interceptors take several.
type calls struct {
	started *prometheus.CounterVec
	handled *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	methods map[string]*method // by full name; fixed before the server serves, nil when nobody takes the counts
}

// A method is the counters of one RPC.
type method struct {
	started prometheus.Counter
	ok      prometheus.Counter
	handled *prometheus.CounterVec // by code
	seconds prometheus.Observer    // nil for a stream, which lasts as long as its client likes
}

// Labels of calls.
const (
	labelType    = "grpc_type"
	labelService = "grpc_service"
	labelMethod  = "grpc_method"
)

// usualCodes are those that calls end with. Their series are there from the start, at zero.
var usualCodes = [...]codes.Code{
	codes.OK, codes.Canceled, codes.InvalidArgument, codes.DeadlineExceeded, codes.NotFound, codes.PermissionDenied,
	codes.ResourceExhausted, codes.FailedPrecondition, codes.Internal, codes.Unavailable, codes.Unauthenticated,
}

func newCalls() *calls {
	labels := []string{labelType, labelService, labelMethod}
	return &calls{
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_started_total", Help: "RPCs that were begun.",
		}, labels),
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total", Help: "RPCs that have ended, refused ones too.",
		}, []string{labelType, labelService, labelMethod, "grpc_code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "How long unary RPCs took.",
			Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 2.5},
		}, labels),
	}
}

// learn makes the counters of all methods of a server that does not serve yet.
func (c *calls) learn(server *grpc.Server) {
	c.methods = map[string]*method{}
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			c.methods["/"+service+"/"+m.Name] = c.method(service, m)
		}
	}
}

func (c *calls) method(service string, info grpc.MethodInfo) *method {
	kind := "unary"
	switch {
	case info.IsClientStream && info.IsServerStream:
		kind = "bidi_stream"
	case info.IsServerStream:
		kind = "server_stream"
	case info.IsClientStream:
		kind = "client_stream"
	}
	labels := prometheus.Labels{labelType: kind, labelService: service, labelMethod: info.Name}
	m := &method{started: c.started.With(labels), handled: c.handled.MustCurryWith(labels)}
	for _, code := range usualCodes {
		m.handled.WithLabelValues(code.String())
	}
	m.ok = m.handled.WithLabelValues(codes.OK.String())
	if kind == "unary" {
		m.seconds = c.seconds.With(labels)
	}
	return m
}

// ended counts a call that has ended with err.
func (m *method) ended(err error) {
	if err == nil {
		m.ok.Inc()
		return
	}
	m.handled.WithLabelValues(status.Code(err).String()).Inc()
}

// unary stands before every unary call: it counts it, and lets the access rules decide.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	m := s.metrics.calls.methods[info.FullMethod]
	if m == nil {
		return s.access.UnaryInterceptor(ctx, req, info, handler)
	}
	m.started.Inc()
	began := time.Now()
	resp, err := s.access.UnaryInterceptor(ctx, req, info, handler)
	m.seconds.Observe(time.Since(began).Seconds())
	m.ended(err)
	return resp, err
}

// stream does for streams what unary does for unary calls.
func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	m := s.metrics.calls.methods[info.FullMethod]
	if m == nil {
		return s.access.StreamInterceptor(srv, stream, info, handler)
	}
	m.started.Inc()
	err := s.access.StreamInterceptor(srv, stream, info, handler)
	m.ended(err)
	return err
}
