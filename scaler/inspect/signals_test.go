package inspect_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// A producer of any kind can ring for a source that tells of nothing by itself.
func TestSignalWakesAtOnceAndTellsWhomItConcerns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", polled{store}))
		b.listen(ref("queue", "mail"))
		b.listen(ref("queue", "mail*"))
		b.listen(ref("queue", "video"))
		time.Sleep(10*time.Second + 100*time.Millisecond) // between two edge polls
		store.Enqueue("mail", 1)
		rung := time.Now()
		resp, err := b.Signal(t.Context(), &leadsmanv1.SignalRequest{Queue: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the signal", resp, &leadsmanv1.SignalResponse{StreamsTold: 2, StreamsWaiting: 2})
		synctest.Wait()
		for _, trigger := range b.triggers() {
			active := trigger.GetWakes() == 1 && trigger.GetWokenAt().AsTime().Equal(rung)
			if want := !slices.Equal(trigger.GetQuery().GetQueues(), []string{"video"}); active != want {
				t.Errorf("%v: woken at once: %v, want %v", trigger.GetQuery().GetQueues(), active, want)
			}
		}
		resp, err = b.Signal(t.Context(), &leadsmanv1.SignalRequest{Source: "jobs"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the signal of all queues", resp, &leadsmanv1.SignalResponse{StreamsTold: 3, StreamsWaiting: 1})
	})
}

func TestSignalNeedsItsScopeAndItsQueue(t *testing.T) {
	signal := []scaler.Scope{scaler.ScopeSignal}
	producer, first := mint(t, scaler.Grant{ID: "producer", Scopes: signal, Queues: []string{"mail-*"}})
	reader, second := mint(t, scaler.Grant{ID: "reader", Scopes: []scaler.Scope{scaler.ScopeRead, scaler.ScopeInspect}})
	b := serve(t, []scaler.Token{first, second}, source(t, "jobs", memory.New()))
	for _, tc := range []struct {
		token, source, queue string
		code                 codes.Code
		text                 string
	}{
		{producer, "jobs", "mail-out", codes.OK, ""},
		{producer, "", "mail-out", codes.OK, ""},
		{producer, "jobs", "bill", codes.PermissionDenied, "bill"},
		{producer, "jobs", "", codes.PermissionDenied, `queue "*"`},
		{producer, "job", "mail-out", codes.InvalidArgument, "jobs"},
		{producer, "jobs", "mail-\x00", codes.InvalidArgument, "control character"},
		{reader, "jobs", "mail-out", codes.PermissionDenied, `scope "signal"`},
		{"ldm_none_0", "jobs", "mail-out", codes.Unauthenticated, ""},
	} {
		_, err := b.Signal(bearing(t, tc.token), &leadsmanv1.SignalRequest{Source: tc.source, Queue: tc.queue})
		if tc.code == codes.OK {
			if err != nil {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		wantStatus(t, err, tc.code, tc.text)
	}
}
