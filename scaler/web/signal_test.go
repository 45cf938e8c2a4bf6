package web_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// unwatched is a store whose changes nobody tells of, as that of a library without any notification.
type unwatched struct{ driver.Reader }

// Any producer can ring: what it rings for is read, and only that wakes.
func TestSignalWakesTheStreamsOfItsQueue(t *testing.T) {
	store := memory.New()
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", unwatched{store}), source(t, "other", memory.New()))
	told := func(body, want string) {
		t.Helper()
		b.do(http.MethodPost, "/api/signal", body).wants(t, 200, want)
	}
	told(`{"source": "jobs", "queue": "mail"}`, `{"streamsTold": 0, "streamsWaiting": 0}`)
	woken := make(chan time.Time, 10)
	for _, queue := range []string{"mail", "mail*", "video"} {
		stream, err := b.keda().StreamIsActive(t.Context(), &pb.ScaledObjectRef{
			Name: "w-" + queue, ScalerMetadata: map[string]string{"source": "jobs", "queue": queue},
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
				if queue != "video" {
					woken <- time.Now()
				}
			}
		}()
	}
	id, err := b.server.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the streams are open", func() bool { return b.server.Sources(id)[0].Waiting == 3 })
	told(`{"source": "jobs", "queue": "video"}`, `{"streamsTold": 1, "streamsWaiting": 1}`)
	store.Enqueue("mail", 1)
	told(`{"source": "jobs", "queue": "mail"}`, `{"streamsTold": 2, "streamsWaiting": 2}`)
	for range 2 {
		select {
		case <-woken:
		case <-time.After(10 * time.Second):
			t.Fatal("no true")
		}
	}
	eventually(t, "the streams do not wait any more", func() bool { return b.server.Sources(id)[0].Waiting == 1 })
	told(`{"source": "jobs"}`, `{"streamsTold": 3, "streamsWaiting": 1}`)
}

// A signal is what wakes here, not the edge poll: it is there before the next one is due.
func TestSignalIsPassedOnAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", unwatched{store}))
		stream, err := b.keda().StreamIsActive(t.Context(), &pb.ScaledObjectRef{Name: "w", ScalerMetadata: map[string]string{"queue": "mail"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + 100*time.Millisecond) // between two edge polls
		store.Enqueue("mail", 1)
		began := time.Now()
		if got := b.post("/api/signal?queue=mail"); got.status != 200 {
			t.Fatalf("%+v", got)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

func TestMalformedSignalsAreRefused(t *testing.T) {
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()), source(t, "other", memory.New()))
	for _, tc := range []struct {
		query, body string
		status      int
		reason      string
		text        string
	}{
		{"", ``, 400, "invalid_argument", "there are several sources"},
		{"", `{"source": "job"}`, 404, "not_found", `"jobs"`},
		{"", `{"sauce": "jobs"}`, 400, "invalid_argument", "cannot be read"},
		{"", `nonsense`, 400, "invalid_argument", "cannot be read"},
		{"", `{"source": "jobs"} {"source": "jobs"}`, 400, "invalid_argument", "more than one signal"},
		{"", `{"source": "jobs", "queue": "` + strings.Repeat("x", 64<<10) + `"}`, 400, "invalid_argument", "at most 16384 bytes"},
		{"", `{"source": "jobs", "queue": "` + strings.Repeat("x", 8<<10) + `"}`, 400, "invalid_argument", "longer than"},
		{"?source=jobs", `{"source": "jobs"}`, 400, "invalid_argument", "give them once"},
		{"?source=jobs&queues=mail", ``, 400, "invalid_argument", `"queues" is no parameter`},
		{"?source=jobs&source=jobs", ``, 400, "invalid_argument", "2 times"},
	} {
		b.do(http.MethodPost, "/api/signal"+tc.query, tc.body).refused(t, tc.status, tc.reason, tc.text)
	}
	b.get("/api/signal?source=jobs").refused(t, 405, "method_not_allowed", "POST")
}
