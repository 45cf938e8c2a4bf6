package inspect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func (b *bed) sources() []*leadsmanv1.Source {
	b.t.Helper()
	resp, err := b.ListSources(b.t.Context(), &leadsmanv1.ListSourcesRequest{})
	if err != nil {
		b.t.Fatalf("ListSources: %v", err)
	}
	return resp.GetSources()
}

// A noting is a Store with something to know about it.
type noting struct{ *memory.Store }

func (n noting) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	reading, err := n.Store.Read(ctx, req)
	reading.Notes = []string{"the file is on a network file system"}
	return reading, err
}

// A polled is a Reader that cannot watch.
type polled struct{ driver.Reader }

func TestListSourcesTellsHowEachStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		idle, ready, failing := memory.New(), memory.New(), memory.New()
		failing.Fail(driver.Errorf(driver.Denied, "the user may not read the table jobs"))
		b := serve(t, nil, source(t, "idle", idle), source(t, "ready", noting{ready}), source(t, "failing", polled{failing}))
		start := timestamppb.Now()
		b.listen(ref("source", "ready", "queue", "mail"))
		ready.Set("mail", memory.State{Running: 1})
		b.listen(ref("source", "ready", "queue", "video"))
		_, err := b.keda.IsActive(t.Context(), ref("source", "failing"))
		wantStatus(t, err, codes.Unavailable)
		time.Sleep(3 * time.Second)
		all := b.sources()
		if len(all) != 3 {
			t.Fatalf("%d sources, want 3 in the order of the configuration", len(all))
		}
		same(t, "the idle source", all[0], &leadsmanv1.Source{
			Name: "idle", Engine: "memory", Preset: "none", Location: "here",
			State: leadsmanv1.Source_STATE_IDLE, PushMode: "direct",
			Conditions: []*leadsmanv1.Condition{
				{Type: "Readable", Message: "not read yet: nobody has asked"},
				{Type: "Pushed", Status: true, Message: "direct", Since: start},
			},
		})
		got := all[1]
		if got.GetState() != leadsmanv1.Source_STATE_READY || got.GetStreams() != 2 || got.GetStreamsWaiting() != 1 ||
			got.GetQueuesWanted() != 2 || got.GetReads() == 0 || got.GetFailures() != 0 {
			t.Errorf("the source that is read: %v", got)
		}
		if age := got.GetSampleAge(); age == nil || age.AsDuration() > 4*time.Second {
			t.Errorf("sample age = %v", age)
		}
		if conditions := got.GetConditions(); len(conditions) != 3 || !conditions[0].GetStatus() ||
			conditions[2].GetType() != "Note" || !strings.Contains(conditions[2].GetMessage(), "network file system") {
			t.Errorf("conditions = %v, want it readable and the note", conditions)
		}
		got = all[2]
		if got.GetState() != leadsmanv1.Source_STATE_FAILING || got.GetFailures() == 0 || got.GetSampleAge() != nil ||
			got.GetPushMode() != "edge poll" || !strings.Contains(got.GetPushReason(), "cannot watch") {
			t.Errorf("the source that fails: %v", got)
		}
		readable, pushed := got.GetConditions()[0], got.GetConditions()[1]
		if readable.GetStatus() || !strings.Contains(readable.GetMessage(), "may not read the table jobs") {
			t.Errorf("Readable = %v, want false and why", readable)
		}
		if pushed.GetStatus() || !strings.HasPrefix(pushed.GetMessage(), "edge poll: ") {
			t.Errorf("Pushed = %v, want false and why", pushed)
		}
	})
}

// Case 28.
func TestSecretsAreNotInspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2"
		store := memory.New()
		store.Enqueue("mail", 1)
		b := serve(t, nil, source(t, "jobs", store, storage.WithSecrets(func() []string { return []string{secret} })))
		get := &leadsmanv1.GetQueueRequest{Queue: "mail"}
		if _, err := b.GetQueue(t.Context(), get); err != nil {
			t.Fatal(err)
		}
		w := b.watch(t.Context(), &leadsmanv1.WatchQueueRequest{Queue: "mail"})
		store.Fail(errors.New("password " + secret + " is wrong"))
		time.Sleep(5 * time.Second)
		stale, err := b.GetQueue(t.Context(), get)
		if err != nil || stale.GetQueue().GetStaleReason() == "" {
			t.Errorf("GetQueue = %v, %v, want the last sample and why it is old", stale, err)
		}
		explained, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "video")})
		if err != nil || explained.GetError() == "" {
			t.Errorf("Explain = %v, %v, want an error in it", explained, err)
		}
		_, _ = b.keda.IsActive(t.Context(), ref("queue", "video"))
		triggers, err := b.ListTriggers(t.Context(), &leadsmanv1.ListTriggersRequest{})
		if err != nil || len(triggers.GetTriggers()) != 1 || triggers.GetTriggers()[0].GetError() == "" {
			t.Errorf("ListTriggers = %v, %v, want one that failed", triggers, err)
		}
		shown := []string{stale.String(), explained.String(), triggers.String()}
		for _, s := range b.sources() {
			shown = append(shown, s.String())
		}
		for _, m := range w.take() {
			shown = append(shown, m.String())
		}
		all := strings.Join(shown, "\n")
		if strings.Contains(all, secret) || !strings.Contains(all, "***") {
			t.Errorf("the secret is shown, or no error is:\n%s", all)
		}
	})
}

func TestLimitedCallerSeesItsSourcesQueuesAndNamespacesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		person, limited := mint(t, scaler.Grant{
			ID: "person", Scopes: []scaler.Scope{scaler.ScopeInspect},
			Sources: []string{"jobs"}, Queues: []string{"mail-*"}, Namespaces: []string{"team"},
		})
		keda, entry := mint(t, scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}})
		store := memory.New()
		store.Enqueue("mail-a", 1)
		store.Enqueue("mail-b", 2)
		store.Enqueue("wages", 3)
		b := serve(t, []scaler.Token{limited, entry}, source(t, "jobs", store), source(t, "payroll", memory.New()))
		for _, metadata := range [][]string{
			{"source", "jobs", "queue", "mail-a"},
			{"source", "jobs", "queue", "wages"},
			{"source", "jobs"},
			{"source", "payroll"},
			{"source", "payroll", "queue", "mail-a"},
		} {
			if _, err := b.keda.IsActive(t.Context(), ref(append(metadata, "token", keda)...)); err != nil {
				t.Fatal(err)
			}
		}
		elsewhere := ref("source", "jobs", "queue", "mail-a", "token", keda)
		elsewhere.Namespace = "other"
		if _, err := b.keda.IsActive(t.Context(), elsewhere); err != nil {
			t.Fatal(err)
		}
		ctx := bearing(t, person)
		sources, err := b.ListSources(ctx, &leadsmanv1.ListSourcesRequest{})
		if err != nil || len(sources.GetSources()) != 1 || sources.GetSources()[0].GetName() != "jobs" {
			t.Errorf("ListSources = %v, %v, want jobs alone", sources, err)
		}
		queues, err := b.ListQueues(ctx, &leadsmanv1.ListQueuesRequest{})
		if err != nil || queues.GetTotal() != 2 || len(queues.GetQueues()) != 2 {
			t.Errorf("ListQueues = %v, %v, want mail-a and mail-b", queues, err)
		}
		triggers, err := b.ListTriggers(ctx, &leadsmanv1.ListTriggersRequest{})
		if err != nil || triggers.GetTotal() != 1 || triggers.GetTriggers()[0].GetQuery().GetQueues()[0] != "mail-a" {
			t.Errorf("ListTriggers = %v, %v, want that of mail-a in team", triggers, err)
		}
		near, err := b.GetQueue(ctx, &leadsmanv1.GetQueueRequest{Queue: "mail-c"})
		if err != nil || len(near.GetNearNames()) != 2 {
			t.Errorf("GetQueue = %v, %v, want the two near names that are granted", near, err)
		}
		_, err = b.GetQueue(ctx, &leadsmanv1.GetQueueRequest{Queue: "wages"})
		wantStatus(t, err, codes.PermissionDenied, `queue "wages"`)
		_, err = b.GetQueue(ctx, &leadsmanv1.GetQueueRequest{Source: "payroll", Queue: "mail-a"})
		wantStatus(t, err, codes.InvalidArgument, `"payroll"`)
		_, err = b.Explain(ctx, &leadsmanv1.ExplainRequest{Namespace: "other", Metadata: pairs("queue", "mail-a")})
		wantStatus(t, err, codes.PermissionDenied, `namespace "other"`)
		_, err = b.Explain(ctx, &leadsmanv1.ExplainRequest{Namespace: "team", Metadata: pairs("queue", "wages")})
		wantStatus(t, err, codes.PermissionDenied, `queue "wages"`)
		for name, token := range map[string]string{"KEDA's token": keda, "a wrong one": person + "x"} {
			if _, err := b.ListSources(bearing(t, token), &leadsmanv1.ListSourcesRequest{}); err == nil {
				t.Errorf("%s may inspect", name)
			}
		}
		_, err = b.ListSources(t.Context(), &leadsmanv1.ListSourcesRequest{})
		wantStatus(t, err, codes.Unauthenticated)
	})
}
