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
	calls   *calls
	labels  []string
	started prometheus.Counter
	ok      prometheus.Counter
	seconds prometheus.Observer // nil for a stream, which lasts as long as its client likes
}

// usualCodes are those that calls end with. Their series are there from the start, at zero.
var usualCodes = [...]codes.Code{
	codes.OK, codes.Canceled, codes.InvalidArgument, codes.DeadlineExceeded, codes.NotFound, codes.PermissionDenied,
	codes.ResourceExhausted, codes.FailedPrecondition, codes.Internal, codes.Unavailable, codes.Unauthenticated,
}

func newCalls() *calls {
	labels := []string{"grpc_type", "grpc_service", "grpc_method"}
	return &calls{
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_started_total", Help: "RPCs that were begun.",
		}, labels),
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total", Help: "RPCs that have ended, refused ones too.",
		}, []string{labels[0], labels[1], labels[2], "grpc_code"}),
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
	m := &method{calls: c, labels: []string{kind, service, info.Name}}
	m.started = c.started.WithLabelValues(m.labels...)
	for _, code := range usualCodes {
		m.handled(code)
	}
	m.ok = m.handled(codes.OK)
	if kind == "unary" {
		m.seconds = c.seconds.WithLabelValues(m.labels...)
	}
	return m
}

func (m *method) handled(code codes.Code) prometheus.Counter {
	return m.calls.handled.WithLabelValues(m.labels[0], m.labels[1], m.labels[2], code.String())
}

// ended counts a call that has ended with err.
func (m *method) ended(err error) {
	if err == nil {
		m.ok.Inc()
		return
	}
	m.handled(status.Code(err)).Inc()
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
