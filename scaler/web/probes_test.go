package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// Case 71: a backend that is down for long makes no probe restart the process, and none of the replicas is taken out
// of service while another source answers.
func TestDeadSourceDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good, dead := memory.New(), memory.New()
		dead.Fail(errors.New("connection refused"))
		b := serve(t, scaler.Access{}, nil, source(t, "good", good), source(t, "dead", dead), source(t, "hangs", hanging{}))
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(10 * time.Second) {
			b.direct("/health").wants(t, 200, `{"status": "ok"}`)
			if got := b.direct("/readiness"); got.status != 200 {
				t.Fatalf("after %v: %+v", time.Since(began), got)
			}
			_ = b.direct("/api/scaler/dead/mail")
			_ = b.direct("/api/scaler/hangs/mail")
		}
		got := b.direct("/readiness")
		got.body = strings.Replace(got.body, ageSeconds.FindString(got.body), "", 1)
		got.wants(t, 200, `{"ready": true, "serving": true, "sources": [
			{"name": "good", "state": "ready"},
			{"name": "dead", "state": "failing", "reason": "unavailable"},
			{"name": "hangs", "state": "failing", "reason": "timeout"}
		]}`)
		if n := good.Reads(); n > 2 {
			t.Errorf("a source that nobody asks was read %d times for the probes", n)
		}
	})
}

// A replica whose every source is dead is no use, and gets none of the traffic until one is back.
func TestReadinessFollowsTheOnlySource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Fail(driver.Errorf(driver.Denied, "password of user app is wrong"))
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
		synctest.Wait()
		down := b.direct("/readiness")
		down.wants(t, 503, `{"ready": false, "serving": true, "sources": [{"name": "jobs", "state": "failing", "reason": "denied"}]}`)
		if strings.Contains(down.body, "password") {
			t.Error("everybody is told why")
		}
		for range 60 {
			_ = b.direct("/readiness")
			time.Sleep(time.Second)
		}
		if n := store.Reads(); n < 8 || n > 16 {
			t.Errorf("%d reads in a minute of probes, want one each five seconds or so", n)
		}
		b.direct("/health").wants(t, 200, `{"status": "ok"}`)
		store.Fail(nil)
		time.Sleep(6 * time.Second)
		if got := b.direct("/readiness"); got.status != 200 {
			t.Errorf("after the recovery: %+v", got)
		}
	})
}

// Kubernetes gives a probe a second.
func TestReadinessAnswersWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, scaler.Access{}, nil, source(t, "hangs", hanging{}), source(t, "good", memory.New()))
		synctest.Wait()
		began := time.Now()
		b.direct("/readiness").wants(t, 200, `{"ready": true, "serving": true, "sources": [
			{"name": "hangs", "state": "unread"}, {"name": "good", "state": "ready", "ageSeconds": 0.5}]}`)
		if took := time.Since(began); took >= time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestReadinessEndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()))
		synctest.Wait()
		if got := b.direct("/readiness"); got.status != 200 {
			t.Fatalf("%+v", got)
		}
		b.stop()
		got := b.direct("/readiness")
		if got.status != 503 || !strings.Contains(got.body, `"ready":false,"serving":false`) {
			t.Errorf("%+v", got)
		}
		b.direct("/health").wants(t, 200, `{"status": "ok"}`)
		b.direct("/api/scaler").refused(t, 503, "unavailable", "shutting down")
	})
}

// A read that its timeout does not end is a loop that stands still: nobody who waits for it will be answered.
func TestHealthFailsWhenReadsStandStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := &deaf{free: make(chan struct{})}
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", deaf))
		defer close(deaf.free)
		_ = b.direct("/api/scaler")
		time.Sleep(20 * time.Second)
		b.direct("/health").wants(t, 200, `{"status": "ok"}`)
		time.Sleep(20 * time.Second)
		b.direct("/health").wants(t, http.StatusServiceUnavailable, `{"status": "stalled", "stalled": ["the reads of source jobs"]}`)
		if !strings.Contains(b.log.String(), "stand still") {
			t.Error("the log says nothing")
		}
	})
}

// deaf is a reader that does not keep to its contract: it goes on when its context is done.
type deaf struct{ free chan struct{} }

func (d *deaf) Read(context.Context, driver.Request) (driver.Reading, error) {
	<-d.free
	return driver.Reading{}, errors.New("freed")
}

func (*deaf) Close() error { return nil }
