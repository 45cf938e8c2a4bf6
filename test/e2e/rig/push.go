package rig

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"google.golang.org/grpc/codes"
	autoscaling "k8s.io/api/autoscaling/v2"
)

// A PushScaler is KEDA's client of a trigger of type external-push, at work.
type PushScaler struct {
	Scaler

	Wakes chan time.Time // when each true came; to be received or forgotten before there are 1000
	Specs <-chan []autoscaling.MetricSpec
}

// ExternalPush makes KEDA's push scaler for a trigger and runs it until the test ends.
func ExternalPush(tb testing.TB, s *Server, tr Trigger) *PushScaler {
	tb.Helper()
	config := tr.Config(tb, s)
	made, err := scalers.NewExternalPushScaler(config)
	if err != nil {
		tb.Fatal(err)
	}
	streamer, ok := made.(scalers.MetricSpecStreamer)
	if !ok {
		tb.Fatal("KEDA's push scaler streams no metric specs")
	}
	p := &PushScaler{
		Scaler: *NewScaler(tb, made, config),
		Wakes:  make(chan time.Time, 1000),
		Specs:  streamer.MetricSpecChan(),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	active := make(chan bool)
	go made.Run(ctx, active)
	received := make(chan struct{})
	go func() {
		defer close(received)
		for is := range active {
			if !is {
				tb.Error("a false was pushed")
			}
			p.Wakes <- time.Now()
		}
	}()
	tb.Cleanup(func() {
		cancel()
		<-received
		for range p.Specs { // until it is closed
		}
	})
	return p
}

// Woken waits for the next true and returns when it came.
func (p *PushScaler) Woken(within time.Duration) time.Time {
	p.tb.Helper()
	select {
	case at := <-p.Wakes:
		return at
	case <-time.After(within):
		p.tb.Fatalf("no true within %v", within)
		return time.Time{}
	}
}

// WokenBy does something, waits for the true that it leads to, and logs how long that took.
func (p *PushScaler) WokenBy(event func(), within time.Duration) {
	p.tb.Helper()
	began := time.Now()
	event()
	done := time.Now()
	at := p.Woken(within)
	p.tb.Logf("true %v after the beginning and %v after the end of what led to it", at.Sub(began), at.Sub(done))
}

// Opens waits until the push scaler's streams are open, which the metric spec tells that comes first on one.
func (p *PushScaler) Opens() []autoscaling.MetricSpec {
	p.tb.Helper()
	select {
	case specs := <-p.Specs:
		return specs
	case <-time.After(10 * time.Second):
		p.tb.Fatal("no metric spec was streamed")
		return nil
	}
}

// Forget drops what was received so far.
func (p *PushScaler) Forget() {
	for {
		select {
		case <-p.Wakes:
		default:
			return
		}
	}
}

// Ends waits until the push stream has ended with this code, and expects no true.
func (p *PushScaler) Ends(code codes.Code) {
	p.tb.Helper()
	Eventually(p.tb, Reload, "the stream ends with "+code.String(), func() bool {
		return len(kedaLog.Find(strconv.Quote(p.Object), "error running StreamIsActive", "code = "+code.String())) > 0
	})
	if len(p.Wakes) > 0 {
		p.tb.Error("a true was pushed")
	}
}
