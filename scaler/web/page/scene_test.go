package page

import (
	"errors"
	"math"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// scene is a server as an operator has it on an ordinary day, with something amiss.
func scene(t *testing.T) *bed {
	t.Helper()
	mail, media, broken := memory.New(), memory.New(), memory.New()
	mail.Set("mail-out", memory.State{Ready: 128, Running: 17, Pool: &driver.Pool{Workers: 3, Capacity: 24}, Due: []time.Duration{40 * time.Second, time.Hour}})
	mail.Set("mail-bulk", memory.State{Ready: 0, Running: 2, Pool: &driver.Pool{Workers: 1, Capacity: 8}})
	mail.Set("reports", memory.State{Due: []time.Duration{5 * time.Hour}})
	media.Set("transcode", memory.State{Ready: 12400, Running: 64})
	media.Set("thumbnails", memory.State{Ready: 9, Paused: true})
	broken.Fail(errors.New("connection refused"))
	b := serve(t, scaler.Access{},
		source(t, "mail", mail, storage.WithTraits(storage.Traits{Engine: "postgres", Preset: "river", Location: "db.internal:5432/mail"})),
		source(t, "media", media, storage.WithTraits(storage.Traits{Engine: "redis", Preset: "bullmq", Location: "cache.internal:6379/1"})),
		source(t, "billing", broken, storage.WithTraits(storage.Traits{Engine: "postgres", Preset: "graphile_worker", Location: "ledger.internal:5432/billing"})),
	)
	b.remember("mail", "mail-out", wave(90, 80, 34), wave(14, 6, 34))
	b.remember("mail", "mail-bulk", gap(wave(40, 60, 20), 12, 48), gap(wave(6, 3, 20), 14, 52))
	b.remember("media", "transcode", func(m float64) float64 { return m * m * 3.4 }, func(m float64) float64 { return math.Min(64, m*4) })
	b.remember("media", "thumbnails", wave(5, 4, 9), wave(2, 2, 7))

	keda := b.keda()
	refs := []*pb.ScaledObjectRef{
		{Namespace: "team-mail", Name: "mailer", ScalerMetadata: map[string]string{"source": "mail", "queue": "mail-*", "target": "8"}},
		{Namespace: "team-media", Name: "transcoder", ScalerMetadata: map[string]string{"source": "media", "queue": "transcode", "metric": "ready", "target": "500", "activation": "20", "linger": "5m"}},
		{Namespace: "team-mail", Name: "nightly-reports", ScalerMetadata: map[string]string{"source": "mail", "queue": "reports"}},
	}
	for _, ref := range refs {
		b.poll(keda, ref)
	}
	stream, err := keda.StreamIsActive(t.Context(), refs[2])
	if err != nil {
		t.Fatal(err)
	}
	for id, deadline := anyone(t, b), time.Now().Add(10*time.Second); b.server.Sources(id)[0].Waiting == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the stream does not begin to wait")
		}
	}
	mail.Enqueue("reports", 1)
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	b.poll(keda, refs[2])
	return b
}

// remember gives a queue an hour behind it, of samples every second.
func (b *bed) remember(source, queue string, ready, running func(minute float64) float64) {
	now := time.Now()
	for at := now.Add(-time.Hour); at.Before(now.Add(-time.Minute)); at = at.Add(5 * time.Second) {
		minute := at.Sub(now.Add(-time.Hour)).Minutes()
		q := scaler.HeldQueue{At: at, Queue: driver.Queue{Name: queue}}
		q.Ready, q.Running = int64(math.Max(0, ready(minute))), int64(math.Max(0, running(minute)))
		b.page.history.record(source, []scaler.HeldQueue{q})
	}
}

// wave goes up and down over so many minutes, and is not smooth.
func wave(mean, swing, period float64) func(float64) float64 {
	return func(m float64) float64 { return mean + swing*math.Sin(m/period*2*math.Pi) + swing/3*math.Sin(m*3.7) }
}

// gap is f, and 0 between two minutes.
func gap(f func(float64) float64, from, to float64) func(float64) float64 {
	return func(m float64) float64 {
		if m > from && m < to {
			return 0
		}
		return f(m)
	}
}
