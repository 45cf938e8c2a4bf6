package rig

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	autoscaling "k8s.io/api/autoscaling/v2"
)

// Metadata are those of a trigger, as they stand in a ScaledObject; scalerAddress is filled in.
type Metadata map[string]string

// A Trigger is what KEDA's operator makes a scaler of: one trigger of a ScaledObject, with what it has resolved.
type Trigger struct {
	Object   string // tells ScaledObjects of one test apart
	Index    int    // the trigger's place in it
	Metadata Metadata
	Env      map[string]string // the environment of the scale target
	Auth     map[string]string // from a TriggerAuthentication
}

// Config is the trigger as KEDA's operator hands it to a scaler.
func (tr *Trigger) Config(tb testing.TB, s *Server) *scalersconfig.ScalerConfig {
	all := map[string]string{"scalerAddress": s.GRPC}
	maps.Copy(all, tr.Metadata)
	return &scalersconfig.ScalerConfig{
		ScalableObjectName:      ObjectName(tb, s, tr.Object),
		ScalableObjectNamespace: "team-mail",
		ScalableObjectType:      "ScaledObject",
		TriggerIndex:            tr.Index,
		TriggerMetadata:         all,
		ResolvedEnv:             tr.Env,
		AuthParams:              tr.Auth,
	}
}

// ObjectName is a ScaledObject's name that no other test has, nor the same one when it runs again: the log is
// searched by it.
func ObjectName(tb testing.TB, s *Server, suffix string) string {
	_, port, _ := strings.Cut(s.GRPC, ":")
	return strings.ToLower(strings.TrimSuffix(notInNames.ReplaceAllString(tb.Name()+"-"+port+"-"+suffix, "-"), "-"))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// A Scaler is KEDA's client of a trigger of type external.
type Scaler struct {
	scalers.Scaler

	Object string // the name of its ScaledObject

	tb testing.TB
}

// External makes KEDA's scaler for a trigger. It is closed when the test ends.
func External(tb testing.TB, s *Server, tr Trigger) *Scaler {
	tb.Helper()
	config := tr.Config(tb, s)
	made, err := scalers.NewExternalScaler(config)
	if err != nil {
		tb.Fatal(err)
	}
	return NewScaler(tb, made, config)
}

// NewScaler takes any scaler of KEDA's that was made from a config. It is closed when the test ends.
func NewScaler(tb testing.TB, made scalers.Scaler, config *scalersconfig.ScalerConfig) *Scaler {
	tb.Cleanup(func() {
		if err := made.Close(context.Background()); err != nil {
			tb.Errorf("close KEDA's scaler: %v", err)
		}
	})
	return &Scaler{tb: tb, Scaler: made, Object: config.ScalableObjectName}
}

// kedaName is what a metric's name has to look like so that KEDA and the HPA take it as it is.
var kedaName = regexp.MustCompile(`^s\d+-[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Spec returns the trigger's one metric.
func (s *Scaler) Spec() autoscaling.MetricSpec {
	s.tb.Helper()
	ctx, cancel := s.bound()
	defer cancel()
	specs := s.GetMetricSpecForScaling(ctx)
	if len(specs) != 1 || specs[0].External == nil {
		s.tb.Fatalf("metric specs = %v, want one", specs)
	}
	if name := specs[0].External.Metric.Name; !kedaName.MatchString(name) {
		s.tb.Fatalf("the metric's name %q is not one for an HPA", name)
	}
	return specs[0]
}

// Name returns the trigger's metric name, lower-cased as the metrics API does with it.
func (s *Scaler) Name() string {
	s.tb.Helper()
	return strings.ToLower(s.Spec().External.Metric.Name)
}

// Poll asks as KEDA does on each polling interval: for the one value and for the activity.
func (s *Scaler) Poll(name string) (value float64, active bool, err error) {
	s.tb.Helper()
	ctx, cancel := s.bound()
	defer cancel()
	values, active, err := s.GetMetricsAndActivity(ctx, name)
	if err != nil {
		return 0, false, err
	}
	if len(values) != 1 || values[0].MetricName != name {
		s.tb.Fatalf("metric values = %v, want one of %q", values, name)
	}
	return values[0].Value.AsApproximateFloat64(), active, nil
}

// Wants polls once and expects this value, and activity exactly if it is above zero.
func (s *Scaler) Wants(value float64) {
	s.tb.Helper()
	got, active, err := s.Poll(s.Name())
	if err != nil {
		s.tb.Fatal(err)
	}
	if got != value || active != (value > 0) {
		s.tb.Errorf("value %v, active %v, want %v, %v", got, active, value, value > 0)
	}
}

// Becomes polls until there is this value, and activity exactly if it is above zero.
func (s *Scaler) Becomes(value float64) {
	s.tb.Helper()
	name := s.Name()
	Eventually(s.tb, 10*time.Second, "the metric has the value that the queue has", func() bool {
		got, active, err := s.Poll(name)
		return err == nil && got == value && active == (value > 0)
	})
}

// Refused tells whether KEDA's calls are refused for want of a valid credential.
func (s *Scaler) Refused() bool {
	_, _, err := s.GetMetricsAndActivity(s.Context(), "s0-")
	return status.Code(err) == codes.Unauthenticated
}

// Context bounds one call, because KEDA does not.
func (s *Scaler) Context() context.Context {
	ctx, cancel := s.bound()
	s.tb.Cleanup(cancel)
	return ctx
}

func (s *Scaler) bound() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.tb.Context(), 10*time.Second)
}
