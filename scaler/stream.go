package scaler

import (
	"context"
	"sync/atomic"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/scaler/internal/wake"
	"github.com/leadsman/leadsman/storage/driver"
)

// StreamIsActive sends true on open if there is work, and whenever work arrives. It never sends false, and it never
// ends because of a backend: an error would make KEDA wait up to a minute before it is back, a clean end 2 s.
func (s service) StreamIsActive(ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	ctx, changed := stream.Context(), s.access.Changed()
	a, err := s.admit(ctx, ref)
	if err != nil {
		return s.status(err)
	}
	names, _ := a.query.Names()
	look := &looker{ctx: ctx, stop: s.draining, source: a.source, wants: wants(a.query), activation: a.query.Activation}
	sub := s.hub.Subscribe(a.query.Source, names, a.query.Match, look) // before the first look, so that nothing falls between
	defer sub.Close()
	w := waker{Server: s.Server, asker: a, looker: look, sub: sub, stream: stream}
	a.trigger.opened(&w)
	defer a.trigger.closed(&w)
	return s.status(w.run(ctx, ref, s.permit(changed, &a)))
}

// StreamMetricSpec sends the spec on open: this repairs a partial discovery on KEDA's side (keda#8168). A trigger's
// spec follows from its metadata, which stay the same for a stream's life, so nothing follows.
func (s service) StreamMetricSpec(ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	ctx, changed := stream.Context(), s.access.Changed()
	a, err := s.admit(ctx, ref)
	if err != nil {
		return s.status(err)
	}
	if err := stream.Send(encodeSpec(a.query)); err != nil {
		return err // grpc's own status
	}
	return s.status(s.hold(ctx, ref, s.permit(changed, &a)))
}

// hold waits until the stream is to end. It returns nil, or errMoved, unless the caller has lost the permission.
func (s *Server) hold(ctx context.Context, ref *pb.ScaledObjectRef, leave permit) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.draining:
			return nil
		case <-leave.changed:
		case <-leave.expired:
		}
		if err := leave.renew(ctx, ref); err != nil {
			return err
		}
	}
}

// A waker is one StreamIsActive stream at work.
type waker struct {
	*Server
	asker

	looker *looker
	sub    *wake.Sub
	stream grpc.ServerStreamingServer[pb.IsActiveResponse]
	pulse  pulse
	denied atomic.Bool // a poll has told KEDA since the last look that there is no work
}

// deny says that KEDA is being told that there is no work, whatever the stream has seen: it may scale to zero at once.
func (w *waker) deny() {
	w.denied.Store(true)
	w.sub.Nudge()
}

// run looks and sends until the stream ends. It returns nil, or errMoved, for every end but a lost permission or
// connection.
func (w *waker) run(ctx context.Context, ref *pb.ScaledObjectRef, leave permit) error {
	done := ctx.Done() // asked for once: the way to it is long
	var signalled time.Time
	var err error
	for since := time.Now(); err == nil; {
		if err = w.check(since, signalled); err != nil {
			break
		}
		var due <-chan time.Time
		if d, ok := w.pulse.wait(time.Now()); ok {
			due = time.After(d)
		}
		signalled = time.Time{}
		select {
		case <-done:
			return nil
		case <-w.draining:
			return nil
		case <-leave.changed:
			err = leave.renew(ctx, ref)
		case <-leave.expired:
			err = leave.renew(ctx, ref)
		case <-w.sub.C():
			signalled, since = w.sub.Take()
		case <-due:
			since = time.Now()
		}
	}
	return err
}

// check reads what is as new as since and sends true if it is due. signalled is when the signal came that led here;
// zero when none did. A source that cannot be read is no reason to say or to end anything: it is checked again soon.
func (w *waker) check(since, signalled time.Time) error {
	if w.denied.Swap(false) {
		w.pulse.active = false // a job that came since then is news to KEDA, though the stream may have seen no queue without one
	}
	view, err := w.looker.probe(since)
	if err != nil {
		w.pulse.missed(time.Now())
		return nil //nolint:nilerr // see above; probe has logged it
	}
	d := decide(w.query, view.Queues)
	now := time.Now()
	w.trigger.sawActivity(now, d.active)
	send := w.pulse.observe(now, &d)
	w.sub.Arm(!d.active)
	if !send {
		return nil
	}
	if err := w.stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
		return err // grpc's own status
	}
	var took time.Duration
	if !signalled.IsZero() {
		took = time.Since(signalled)
	}
	w.trigger.woke(now, took)
	w.source.meter.woke(took)
	return nil
}

// A looker reads what a stream has to know.
type looker struct {
	ctx        context.Context //nolint:containedctx // the stream's
	stop       <-chan struct{} // closed when no read is waited for any more
	source     *source
	wants      []driver.Want
	activation float64 // how many jobs tell nothing yet
}

// Look implements wake.Looker: the streams of one queue mostly want the same of it, and find it read.
func (l *looker) Look(since time.Time) { _, _ = l.probe(since) } // whoever finds nothing reads for itself

func (l *looker) probe(since time.Time) (sample.View, error) {
	return l.source.probe(l.ctx, l.stop, l.wants, l.activation, since)
}
