package scaler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

var errDown = driver.Errorf(driver.Unavailable, "the database is down")

// Cases 6, 7 and 11, rules 1 and 4: a backend that has never answered is an error, and the spec stays right.
func TestBackendThatIsDownIsUnavailableAndItsSpecIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Fail(errDown)
		b := serve(t, nil, source(t, "jobs", store))
		mail := ref("queue", "mail", "target", "7")
		stream := b.listen(mail)
		for range 5 { // KEDA's failureThreshold counts errors in a row
			if got := b.spec(mail); got.GetTargetSizeFloat() != 7 {
				t.Errorf("spec = %v", got)
			}
			_, err := b.value(mail)
			wantStatus(t, err, codes.Unavailable, `source "jobs"`, "the database is down")
			_, err = b.IsActive(t.Context(), mail)
			wantStatus(t, err, codes.Unavailable, "the database is down")
			time.Sleep(30 * time.Second)
		}
		if !stream.open() || len(stream.times()) != 0 {
			t.Errorf("the stream got %v and has ended with %v, want nothing and open", stream.times(), stream.err)
		}
		store.Enqueue("mail", 1)
		store.Fail(nil)
		time.Sleep(time.Second)
		if got := stream.times(); len(got) != 1 {
			t.Errorf("after the recovery the stream got %d trues, want 1", len(got))
		}
	})
}

// Rule 1: a failed call can tear KEDA's push stream down, so a short outage is answered with what was last known.
func TestShortOutageIsAnsweredWithTheLastValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Enqueue("mail", 5)
		jobs := source(t, "jobs", store)
		jobs.StaleAfter = 20 * time.Second
		b := serve(t, nil, jobs)
		mail := ref("queue", "mail")
		b.wantValue(mail, 5)
		store.Fail(errDown)
		for range 10 {
			time.Sleep(1900 * time.Millisecond)
			b.wantValue(mail, 5)
			b.wantActive(mail, true)
		}
		time.Sleep(2 * time.Second)
		_, err := b.value(mail)
		wantStatus(t, err, codes.Unavailable, "the database is down")
		_, err = b.IsActive(t.Context(), mail)
		wantStatus(t, err, codes.Unavailable, "the database is down")
		store.Fail(nil)
		time.Sleep(time.Second)
		b.wantValue(mail, 5)
	})
}

// Rule 4: KEDA asks for specs under a lock, at each reconcile, also while a database hangs.
func TestMetricSpecNeedsNoRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := newSlow(forever)
		b := serve(t, nil, source(t, "jobs", hung))
		start := time.Now()
		for range 100 {
			b.spec(ref("queue", "mail"))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("GetMetricSpec took %v beside a source that hangs", took)
		}
		stream, err := b.StreamMetricSpec(t.Context(), ref("queue", "mail"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil || time.Since(start) != 0 {
			t.Errorf("StreamMetricSpec: %v after %v", err, time.Since(start))
		}
	})
}

// Case 8 and rule 7: KEDA sets no deadline and holds a lock during its call.
func TestHangingSourceFailsInTimeAndHurtsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung, well := newSlow(forever), memory.New()
		well.Enqueue("mail", 2)
		slowRead := source(t, "hung", hung)
		slowRead.Timeout = time.Minute // the call's own deadline is the one that counts
		b := serve(t, func(o *scaler.Options) { o.Timeout = 1500 * time.Millisecond }, slowRead, source(t, "well", well))
		dead := b.listen(ref("source", "hung", "queue", "mail"))
		live := b.listen(ref("source", "well", "queue", "video"))
		for range 3 {
			start := time.Now()
			failed := make(chan error, 1)
			go func() {
				_, err := b.IsActive(t.Context(), ref("source", "hung", "queue", "mail"))
				failed <- err
			}()
			b.wantValue(ref("source", "well", "queue", "mail"), 2)
			b.wantActive(ref("source", "well", "queue", "mail"), true)
			if took := time.Since(start); took != 0 {
				t.Errorf("the other source's calls took %v", took)
			}
			wantStatus(t, <-failed, codes.Unavailable, `source "hung"`, "no answer in time")
			if took := time.Since(start); took != 1500*time.Millisecond {
				t.Errorf("the hanging source's call took %v, want its Timeout", took)
			}
		}
		well.Enqueue("video", 1)
		synctest.Wait()
		if len(live.times()) != 1 || len(dead.times()) != 0 || !dead.open() {
			t.Errorf("streams got %v of the live and %v of the dead source", live.times(), dead.times())
		}
	})
}

// Only the first call waits for a source that hangs: KEDA asks in turn, and would wait for each.
func TestCallsAfterAFailureFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, nil, source(t, "jobs", newSlow(forever)))
		start := time.Now()
		_, err := b.value(ref("queue", "mail"))
		wantStatus(t, err, codes.Unavailable, "no answer in time")
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the first call took %v, want its Timeout", took)
		}
		time.Sleep(time.Second)
		start = time.Now()
		for range 10 {
			_, err := b.IsActive(t.Context(), ref("queue", "mail"))
			wantStatus(t, err, codes.Unavailable, "no answer in time")
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the calls after it took %v, want none to wait", took)
		}
	})
}

// Case 21: a paused object whose backend is gone is polled for months.
func TestFailuresAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Fail(errDown)
		b := serve(t, nil, source(t, "jobs", store))
		b.listen(ref("queue", "video"))
		for range 600 { // 10 minutes
			_, err := b.value(ref("queue", "mail"))
			wantStatus(t, err, codes.Unavailable)
			time.Sleep(time.Second)
		}
		health, err := healthpb.NewHealthClient(b.conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health = %v, %v, want serving: one dead source must not take the pod away", health, err)
		}
		if got := strings.Count(b.log.String(), "cannot be read"); got < 1 || got > 11 {
			t.Errorf("%d log lines in 10 minutes of outage, want one a minute", got)
		}
		store.Fail(nil)
		time.Sleep(5 * time.Second)
		for range 60 {
			b.wantValue(ref("queue", "mail"), 0)
			time.Sleep(time.Second)
		}
		if got := strings.Count(b.log.String(), "answers again"); got != 1 {
			t.Errorf("the recovery was logged %d times, want once", got)
		}
	})
}

// Reads for values and reads for streams recover one by one: that is one recovery, not a hundred.
func TestRecoveryIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(0)
		b := serve(t, nil, source(t, "jobs", store))
		b.listen(ref("queue", "mail"))
		poll := func(n int) {
			for range n {
				if _, err := b.value(ref("queue", "video")); err != nil {
					t.Errorf("GetMetrics within StaleAfter: %v", err)
				}
				store.Enqueue("mail", 1) // makes the stream look
				store.Discard("mail")
				time.Sleep(100 * time.Millisecond)
			}
		}
		poll(10)
		store.takes.Store(int64(forever))
		poll(10)
		store.takes.Store(0)
		poll(200)
		down, up := strings.Count(b.log.String(), "cannot be read"), strings.Count(b.log.String(), "answers again")
		if down < 1 || down > 2 || up < 1 || up > 2 {
			t.Errorf("%d failures and %d recoveries were logged for one outage:\n%s", down, up, b.log)
		}
	})
}

// KEDA's connection may break while a read is under way, and an older sample would have served.
func TestCallerThatGoesAwayIsNoFailureOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(0)
		b := serve(t, nil, source(t, "jobs", store))
		b.wantValue(ref("queue", "mail"), 0)
		time.Sleep(5 * time.Second)
		store.takes.Store(int64(time.Second))
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, leave)
		_, err := b.IsActive(ctx, ref("queue", "mail"))
		wantStatus(t, err, codes.Canceled)
		time.Sleep(5 * time.Second)
		if log := b.log.String(); strings.Contains(log, "cannot be read") {
			t.Errorf("the log says that the source failed:\n%s", log)
		}
	})
}

// Case 28: whatever an engine puts into its errors, a password is shown nowhere.
func TestSecretsOfASourceAreShownNowhere(t *testing.T) {
	const secret = "hunter2"
	for name, failure := range map[string]error{
		"a plain error":           errors.New("dial postgres://app:" + secret + "@db/jobs: refused"),
		"an engine's error":       &driver.Error{Kind: driver.Denied, Message: "password " + secret + " is wrong", Err: errors.New(secret)},
		"the status of a backend": status.Error(codes.NotFound, "no user "+secret),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				jobs := source(t, "jobs", dying{Store: store, after: time.Minute, err: failure},
					storage.WithSecrets(func() []string { return []string{secret} }))
				b := serve(t, nil, jobs)
				store.Fail(failure)
				b.listen(ref("queue", "mail"))
				_, err := b.value(ref("queue", "mail"))
				wantStatus(t, err, codes.Unavailable, `source "jobs"`, "***")
				_, activeErr := b.IsActive(t.Context(), ref("queue", "mail"))
				wantStatus(t, activeErr, codes.Unavailable, "***")
				time.Sleep(2 * time.Minute) // the watcher has died of it too
				if shown := err.Error() + activeErr.Error() + b.log.String(); strings.Contains(shown, secret) {
					t.Errorf("the secret is in:\n%s", shown)
				}
				if !strings.Contains(b.log.String(), "***") {
					t.Errorf("the log tells of no failure:\n%s", b.log)
				}
			})
		})
	}
}
