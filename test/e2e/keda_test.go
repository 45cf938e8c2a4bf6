package e2e

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	autoscaling "k8s.io/api/autoscaling/v2"
)

// metadata are those of a trigger, as they stand in a ScaledObject; scalerAddress is filled in.
type metadata map[string]string

// A trigger is what KEDA's operator makes a scaler of: one trigger of a ScaledObject, with what it has resolved.
type trigger struct {
	object   string // tells ScaledObjects of one test apart
	index    int    // the trigger's place in it
	metadata metadata
	env      map[string]string // the environment of the scale target
	auth     map[string]string // from a TriggerAuthentication
}

// config is the trigger as KEDA's operator hands it to a scaler.
func (tr *trigger) config(t *testing.T, s *server) *scalersconfig.ScalerConfig {
	all := map[string]string{"scalerAddress": s.addr}
	maps.Copy(all, tr.metadata)
	return &scalersconfig.ScalerConfig{
		ScalableObjectName:      objectName(t, s, tr.object),
		ScalableObjectNamespace: "team-mail",
		ScalableObjectType:      "ScaledObject",
		TriggerIndex:            tr.index,
		TriggerMetadata:         all,
		ResolvedEnv:             tr.env,
		AuthParams:              tr.auth,
	}
}

// objectName is a ScaledObject's name that no other test has, nor the same one when it runs again: the log is
// searched by it.
func objectName(t *testing.T, s *server, suffix string) string {
	_, port, _ := strings.Cut(s.addr, ":")
	return strings.ToLower(strings.TrimSuffix(notInNames.ReplaceAllString(t.Name()+"-"+port+"-"+suffix, "-"), "-"))
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// A scaler is KEDA's client of a trigger of type external.
type scaler struct {
	scalers.Scaler

	t      *testing.T
	object string
}

// external makes KEDA's scaler for a trigger. It is closed when the test ends.
func external(t *testing.T, s *server, tr trigger) *scaler {
	t.Helper()
	config := tr.config(t, s)
	made, err := scalers.NewExternalScaler(config)
	if err != nil {
		t.Fatal(err)
	}
	return newScaler(t, made, config)
}

func newScaler(t *testing.T, made scalers.Scaler, config *scalersconfig.ScalerConfig) *scaler {
	t.Cleanup(func() {
		if err := made.Close(context.Background()); err != nil {
			t.Errorf("close KEDA's scaler: %v", err)
		}
	})
	return &scaler{t: t, Scaler: made, object: config.ScalableObjectName}
}

// kedaName is what a metric's name has to look like so that KEDA and the HPA take it as it is.
var kedaName = regexp.MustCompile(`^s\d+-[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// spec returns the trigger's one metric.
func (s *scaler) spec() autoscaling.MetricSpec {
	s.t.Helper()
	specs := s.GetMetricSpecForScaling(s.context())
	if len(specs) != 1 || specs[0].External == nil {
		s.t.Fatalf("metric specs = %v, want one", specs)
	}
	if name := specs[0].External.Metric.Name; !kedaName.MatchString(name) {
		s.t.Fatalf("the metric's name %q is not one for an HPA", name)
	}
	return specs[0]
}

// name returns the trigger's metric name, lower-cased as the metrics API does with it.
func (s *scaler) name() string {
	s.t.Helper()
	return strings.ToLower(s.spec().External.Metric.Name)
}

// poll asks as KEDA does on each polling interval: for the one value and for the activity.
func (s *scaler) poll(name string) (value float64, active bool, err error) {
	s.t.Helper()
	values, active, err := s.GetMetricsAndActivity(s.context(), name)
	if err != nil {
		return 0, false, err
	}
	if len(values) != 1 || values[0].MetricName != name {
		s.t.Fatalf("metric values = %v, want one of %q", values, name)
	}
	return values[0].Value.AsApproximateFloat64(), active, nil
}

// wants polls once and expects this value, and activity exactly if it is above zero.
func (s *scaler) wants(value float64) {
	s.t.Helper()
	got, active, err := s.poll(s.name())
	if err != nil {
		s.t.Fatal(err)
	}
	if got != value || active != (value > 0) {
		s.t.Errorf("value %v, active %v, want %v, %v", got, active, value, value > 0)
	}
}

// becomes polls until there is this value, and activity exactly if it is above zero.
func (s *scaler) becomes(value float64) {
	s.t.Helper()
	name := s.name()
	eventually(s.t, 10*time.Second, "the metric has the value that the queue has", func() bool {
		got, active, err := s.poll(name)
		return err == nil && got == value && active == (value > 0)
	})
}

// context bounds a call, because KEDA does not.
func (s *scaler) context() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	s.t.Cleanup(cancel)
	return ctx
}

// A pushScaler is KEDA's client of a trigger of type external-push, at work.
type pushScaler struct {
	scaler

	wakes chan time.Time // when each true came
	specs <-chan []autoscaling.MetricSpec
}

// externalPush makes KEDA's push scaler for a trigger and runs it until the test ends.
func externalPush(t *testing.T, s *server, tr trigger) *pushScaler {
	t.Helper()
	config := tr.config(t, s)
	made, err := scalers.NewExternalPushScaler(config)
	if err != nil {
		t.Fatal(err)
	}
	streamer, ok := made.(scalers.MetricSpecStreamer)
	if !ok {
		t.Fatal("KEDA's push scaler streams no metric specs")
	}
	p := &pushScaler{
		scaler: *newScaler(t, made, config),
		wakes:  make(chan time.Time, 1000),
		specs:  streamer.MetricSpecChan(),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	active := make(chan bool)
	go made.Run(ctx, active)
	received := make(chan struct{})
	go func() {
		defer close(received)
		for is := range active {
			if !is {
				t.Error("a false was pushed")
			}
			p.wakes <- time.Now()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-received
		for range p.specs { // until it is closed
		}
	})
	return p
}

// woken waits for the next true and returns when it came.
func (p *pushScaler) woken(within time.Duration) time.Time {
	p.t.Helper()
	select {
	case at := <-p.wakes:
		return at
	case <-time.After(within):
		p.t.Fatalf("no true within %v", within)
		return time.Time{}
	}
}

// wokenBy does something, waits for the true that it leads to, and logs how long that took.
func (p *pushScaler) wokenBy(event func(), within time.Duration) {
	p.t.Helper()
	began := time.Now()
	event()
	done := time.Now()
	at := p.woken(within)
	p.t.Logf("true %v after the beginning and %v after the end of what led to it", at.Sub(began), at.Sub(done))
}

// opens waits until the push scaler's streams are open, which the metric spec tells that comes first on one.
func (p *pushScaler) opens() []autoscaling.MetricSpec {
	p.t.Helper()
	select {
	case specs := <-p.specs:
		return specs
	case <-time.After(10 * time.Second):
		p.t.Fatal("no metric spec was streamed")
		return nil
	}
}

// forget drops what was received so far.
func (p *pushScaler) forget() {
	for {
		select {
		case <-p.wakes:
		default:
			return
		}
	}
}
