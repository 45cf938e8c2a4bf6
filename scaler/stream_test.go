package scaler_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// wantTrues compares when a stream was sent true, to within 50 ms: signals are passed on together for 20 ms.
func (h *heard) wantTrues(t *testing.T, want ...time.Duration) {
	t.Helper()
	near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= 50*time.Millisecond })
	if diff := cmp.Diff(want, h.times(), near, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("times of each true (-want +got):\n%s", diff)
	}
}

func TestStreamSendsTrueOnOpenWhenActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Running: 1})
		b := serve(t, nil, source(t, "jobs", store))
		active, inactive := b.listen(ref("queue", "mail")), b.listen(ref("queue", "video"))
		time.Sleep(5 * time.Minute)
		active.wantTrues(t, 0)
		inactive.wantTrues(t)
	})
}

// The reason for all this: a worker starts when the job lands and not when KEDA polls.
func TestStreamSendsTrueOnEachEnqueueAfterIdling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail-*"))
		for range 3 {
			time.Sleep(time.Minute)
			store.Enqueue("mail-a", 1)
			synctest.Wait()
			store.Claim("mail-a", 1)
			time.Sleep(30 * time.Second)
			store.Finish("mail-a", 1)
			time.Sleep(30 * time.Second)
		}
		h.wantTrues(t, time.Minute, 3*time.Minute, 5*time.Minute)
	})
}

// A poll has told KEDA that there is nothing to do, and with a short cooldown it scales to zero at once: the stream,
// which hears of signals once a second while it believes in work, must not sleep through the next job.
func TestStreamWaitsAgainAsSoonAsAPollHasSaidInactive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Running: 1})
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(5 * time.Second)
		store.Finish("mail", 1)
		b.wantActive(ref("queue", "mail"), false)
		time.Sleep(100 * time.Millisecond)
		store.Enqueue("mail", 1)
		time.Sleep(1500 * time.Millisecond)
		h.wantTrues(t, 0, 5100*time.Millisecond)
	})
}

// A job that lands between such a poll and the stream's next look is unknown to KEDA, though the stream never sees the
// queue empty.
func TestJobRightAfterAPollHasSaidInactiveIsPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const read = 50 * time.Millisecond
		store := newSlow(read)
		store.Set("mail", memory.State{Running: 1})
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(5 * time.Second)
		store.Finish("mail", 1)
		b.wantActive(ref("queue", "mail"), false)
		time.Sleep(read / 2)
		store.Enqueue("mail", 1)
		time.Sleep(1500 * time.Millisecond)
		h.wantTrues(t, read, 5*time.Second+2*read)
	})
}

// Nothing signals that a source can be read again, and the job was signalled when it could not.
func TestJobThatASignalToldOfInAnOutageIsPushedSoonAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(20*time.Second + 500*time.Millisecond) // the resync is far
		store.Fail(errors.New("connection refused"))
		store.Enqueue("mail", 1)
		time.Sleep(3 * time.Second)
		store.Fail(nil)
		time.Sleep(2 * time.Second)
		if got := h.times(); len(got) != 1 {
			t.Errorf("trues = %v, want one within 2 s of the return, at 23.5 s", got)
		}
	})
}

// KEDA asks for the value right after a wake. A fresh zero from before it, or the little that the stream counted to
// know enough, would send the worker away again.
func TestValueAskedForAfterAWakeAgreesWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail"))
		for range 3 {
			b.wantValue(ref("queue", "mail"), 0)
			time.Sleep(100 * time.Millisecond)
			store.Enqueue("mail", 500)
			synctest.Wait()
			b.wantValue(ref("queue", "mail"), 500)
			b.wantActive(ref("queue", "mail"), true)
			store.Discard("mail")
			time.Sleep(15 * time.Second)
		}
		if got := len(h.times()); got != 3 {
			t.Errorf("%d trues, want 3", got)
		}
	})
}

// Cases 9 and 10: KEDA may lose a true, so it is said again while nobody takes the jobs, ever more slowly, and never
// once they are gone.
func TestTrueIsRepeatedWhileNobodyTakesTheJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		h := b.listen(ref("queue", "mail"))
		store.Enqueue("mail", 3)
		time.Sleep(40 * time.Second)
		h.wantTrues(t, 0, 2*time.Second, 5*time.Second, 35*time.Second)
		store.Claim("mail", 1) // a worker is there
		time.Sleep(5 * time.Minute)
		h.wantTrues(t, 0, 2*time.Second, 5*time.Second, 35*time.Second)
		store.Discard("mail")
		store.Finish("mail", 1)
		time.Sleep(5 * time.Minute)
		h.wantTrues(t, 0, 2*time.Second, 5*time.Second, 35*time.Second)
	})
}

// Case 10: 60 streams, a backlog for 90 s that is being worked on, then none.
func TestBacklogThatIsWorkedOnIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		streams := make([]*heard, 60)
		for i := range streams {
			object := ref("queue", "mail")
			object.Name = fmt.Sprintf("worker-%d", i)
			streams[i] = b.listen(object)
		}
		store.Set("mail", memory.State{Ready: 50, Running: 5})
		time.Sleep(90 * time.Second)
		store.Set("mail", memory.State{})
		time.Sleep(90 * time.Second)
		for _, h := range streams {
			if got := len(h.times()); got != 1 {
				t.Fatalf("%d trues, want one: a repeat stretches KEDA's cooldown", got)
			}
		}
	})
}

// Case 13: the connection is cut, the job lands while nobody listens, and KEDA is back.
func TestFirstMessageOfANewStreamIsThePresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		first := b.dial()
		stream, err := pb.NewExternalScalerClient(first).StreamIsActive(t.Context(), ref("queue", "mail"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		first.Close()
		if _, err := stream.Recv(); err == nil {
			t.Fatal("the stream outlived its connection")
		}
		time.Sleep(time.Second)
		store.Enqueue("mail", 1)
		time.Sleep(time.Second)
		b.listen(ref("queue", "mail")).wantTrues(t, 0)
	})
}

// Case 15: each of three replicas sees every enqueue, whichever of them holds the stream.
func TestEveryReplicaNoticesTheEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		var streams []*heard
		for range 3 {
			streams = append(streams, serve(t, nil, source(t, "jobs", store)).listen(ref("queue", "mail")))
		}
		time.Sleep(time.Second)
		store.Enqueue("mail", 1)
		synctest.Wait()
		for i, h := range streams {
			if len(h.times()) != 1 {
				t.Errorf("replica %d sent %d trues, want 1", i, len(h.times()))
			}
		}
	})
}

// KEDA sends no trigger index: two triggers with equal metadata are two streams of one trigger.
func TestTwoStreamsOfOneTriggerAreBothTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		one, two := b.listen(ref("queue", "mail")), b.listen(ref("queue", "mail"))
		one.close()
		three := b.listen(ref("queue", "mail"))
		store.Enqueue("mail", 1)
		synctest.Wait()
		if len(one.times()) != 0 || len(two.times()) != 1 || len(three.times()) != 1 {
			t.Errorf("trues = %v, %v, %v, want none on the closed stream and one on the others", one.times(), two.times(), three.times())
		}
	})
}

func TestClosedStreamLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, nil, source(t, "jobs", memory.New()))
		exact, pattern, kept := b.listen(ref("queue", "mail")), b.listen(ref("queue", "m*")), b.listen(ref("queue", "mail"))
		if got := b.status(); got.Streams != 3 || got.Waiting != 3 {
			t.Errorf("%d streams, %d waiting, want 3 of each", got.Streams, got.Waiting)
		}
		exact.close()
		pattern.close()
		time.Sleep(time.Second)
		if got := b.status(); got.Streams != 1 || got.Waiting != 1 {
			t.Errorf("after two were closed: %d streams, %d waiting, want 1 of each", got.Streams, got.Waiting)
		}
		everybody, err := b.server.Identify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, trigger := range b.server.Triggers(everybody) {
			want := 0
			if trigger.Query.Queues == "mail" {
				want = 1
			}
			if trigger.Streams != want {
				t.Errorf("the trigger of %s has %d streams, want %d", trigger.Query.Queues, trigger.Streams, want)
			}
		}
		kept.close()
	})
}

func TestThresholdsHoldForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Running: 9})
		b := serve(t, nil, source(t, "jobs", store))
		threshold := b.listen(ref("queue", "mail", "activation", "12"))
		readyOnly := b.listen(ref("queue", "mail", "activeWhileRunning", "false", "activation", "2"))
		for range 5 {
			time.Sleep(10 * time.Second)
			store.Enqueue("mail", 1)
		}
		time.Sleep(10 * time.Second)
		threshold.wantTrues(t, 40*time.Second) // 9 + 4
		readyOnly.wantTrues(t, 30*time.Second) // 3
	})
}

// Nothing signals that a scheduled job has become due.
func TestScheduledJobWakesWhenItIsDueOrWithinItsLookahead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		onTime := b.listen(ref("queue", "mail"))
		early := b.listen(ref("queue", "mail", "lookahead", "90s"))
		anyQueue := b.listen(ref("queue", "m*", "lookahead", "1m"))
		store.Schedule("mail", 1, 5*time.Minute+3*time.Second)
		time.Sleep(5*time.Minute + 4*time.Second)
		onTime.wantTrues(t, 5*time.Minute+3*time.Second)
		if got := early.times(); len(got) == 0 || (got[0]-(3*time.Minute+33*time.Second)).Abs() > 50*time.Millisecond {
			t.Errorf("with a lookahead of 90s: %v, want the first after 3m33s", got)
		}
		if got := anyQueue.times(); len(got) == 0 || (got[0]-(4*time.Minute+3*time.Second)).Abs() > 50*time.Millisecond {
			t.Errorf("with a lookahead of 1m: %v, want the first after 4m3s", got)
		}
	})
}

// Case 19: a trigger's spec follows from its metadata. The stream says so on open and then has nothing to add.
func TestStreamedSpecIsTheOneThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, nil, source(t, "jobs", memory.New()))
		for _, target := range []string{"5", "50"} {
			mail := ref("queue", "mail", "target", target)
			stream, err := b.StreamMetricSpec(t.Context(), mail)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := stream.Recv()
			if err != nil || len(resp.GetMetricSpecs()) != 1 {
				t.Fatalf("StreamMetricSpec = %v, %v, want one spec", resp, err)
			}
			got, want := resp.GetMetricSpecs()[0], b.spec(mail)
			if got.GetMetricName() != want.GetMetricName() || got.GetTargetSizeFloat() != want.GetTargetSizeFloat() ||
				got.GetTargetSize() != want.GetTargetSize() {
				t.Errorf("streamed %v, asked for %v", got, want)
			}
			more := make(chan error, 1)
			go func() {
				_, err := stream.Recv()
				more <- err
			}()
			time.Sleep(time.Hour)
			select {
			case err := <-more:
				t.Errorf("after the first spec: %v, want silence", err)
			default:
			}
		}
	})
}

// A stream costs no reads while it idles, but for the resync; and the cost does not grow with the streams.
func TestIdleStreamsCostOneReadPerResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(10 * time.Millisecond)
		b := serve(t, nil, source(t, "jobs", store))
		for i := range 50 {
			b.listen(ref("queue", "mail", "target", fmt.Sprint(i+1)))
		}
		time.Sleep(time.Second)
		before := store.Reads()
		time.Sleep(time.Minute)
		if got := store.Reads() - before; got < 6 || got > 8 {
			t.Errorf("%d reads in a minute for 50 idle streams, want one per 10 s", got)
		}
	})
}

// The slow reader gets the latest, and its trigger is not held up by it.
func TestReaderThatSleepsFindsNoBacklogOfTrues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, func(o *scaler.Options) { o.ShutdownTimeout = time.Minute }, source(t, "jobs", store))
		stream, err := b.StreamIsActive(t.Context(), ref("queue", "mail"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for range 10_000 { // one backlog, that a producer adds to
			store.Enqueue("mail", 1)
			time.Sleep(100 * time.Microsecond)
		}
		store.Claim("mail", 1)
		time.Sleep(time.Second)
		received := make(chan bool, 100)
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
				received <- true
			}
		}()
		synctest.Wait()
		if got := len(received); got != 1 {
			t.Errorf("%d trues wait for the reader, want 1 for one edge", got)
		}
	})
}
