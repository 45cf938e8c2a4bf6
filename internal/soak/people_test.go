package soak

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// People look inside, over HTTP and gRPC, and come back without keeping a connection.
type people struct {
	stage     *stage
	inspector leadsmanv1.InspectorClient
}

// browses opens the page's stream of events for a few seconds, again and again.
func (p *people) browses(ctx context.Context, t *tally) {
	for pause(ctx, about(500*time.Millisecond)) {
		looking, leave := lasting(ctx, about(4*time.Second))
		if err := p.look(looking, t); err != nil && looking.Err() == nil {
			t.oddf("the page's events: %v", err)
		}
		leave()
	}
}

func (p *people) look(ctx context.Context, t *tally) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.stage.http+"/page/events", http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.stage.tokens.people)
	resp, err := p.stage.web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: ") {
			t.events.Add(1)
		}
	}
	return lines.Err()
}

// asks sends a request of any kind, and wants its status.
func (p *people) asks(ctx context.Context, t *tally) {
	tokens, i := p.stage.tokens, 0
	every(ctx, 100*time.Millisecond, func() {
		i++
		source := sourceOf(i)
		value := "/api/scaler/" + source + "/" + queueOf(source, i) + fmt.Sprintf("?target=%d", i)
		for _, ask := range []struct {
			method, path, token string
			want                int
		}{
			{http.MethodGet, value, tokens.keda, http.StatusOK},
			{http.MethodGet, value, fmt.Sprintf("ldm_keda_%d", i), http.StatusUnauthorized},
			{http.MethodGet, value + "&queu=x", tokens.keda, http.StatusBadRequest},
			{http.MethodGet, fmt.Sprintf("/api/nothing/%d", i), tokens.keda, http.StatusNotFound},
			{http.MethodGet, fmt.Sprintf("/nothing/%d", i), "", http.StatusNotFound},
			{http.MethodGet, "/metrics", tokens.keda, http.StatusForbidden},
			{http.MethodGet, "/health", "", http.StatusOK},
			{http.MethodGet, "/readiness", "", http.StatusOK},
			{http.MethodGet, "/", "", http.StatusOK},
		} {
			code, body, err := p.stage.request(ctx, ask.method, ask.path, ask.token)
			if ctx.Err() != nil {
				return
			}
			t.requests.Add(1)
			if err != nil || code != ask.want {
				t.oddf("%s (want %d): %d %.100s %v", strings.TrimRight(ask.path, "0123456789"), ask.want, code, body, err)
			}
		}
	})
}

// scrapes does as a second Prometheus would.
func (p *people) scrapes(ctx context.Context, t *tally) {
	every(ctx, time.Second, func() {
		_, err := p.stage.get(ctx, "/metrics", p.stage.tokens.people)
		if ctx.Err() != nil {
			return
		}
		t.requests.Add(1)
		if err != nil {
			t.oddf("scrape: %v", err)
		}
	})
}

// inspects asks over gRPC, and watches a queue for a moment.
func (p *people) inspects(ctx context.Context, t *tally) {
	authorized := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.stage.tokens.people)
	every(ctx, 500*time.Millisecond, func() {
		source := sourceOf(rand.N(2))
		_, err := p.inspector.ListSources(authorized, &leadsmanv1.ListSourcesRequest{})
		t.ended(ctx, "ListSources", err, codes.OK)
		_, err = p.inspector.ListQueues(authorized, &leadsmanv1.ListQueuesRequest{Source: source})
		t.ended(ctx, "ListQueues", err, codes.OK)
		_, err = p.inspector.ListTriggers(authorized, &leadsmanv1.ListTriggersRequest{})
		t.ended(ctx, "ListTriggers", err, codes.OK)
		_, err = p.inspector.ListSources(ctx, &leadsmanv1.ListSourcesRequest{})
		t.ended(ctx, "ListSources without a token", err, codes.Unauthenticated)
		watching, leave := lasting(authorized, about(time.Second))
		defer leave()
		watch(watching, t, p.inspector, source, queueOf(source, rand.N(queues)))
	})
}

func watch(ctx context.Context, t *tally, inspector leadsmanv1.InspectorClient, source, queue string) {
	var stream grpc.ServerStreamingClient[leadsmanv1.WatchQueueResponse]
	stream, err := inspector.WatchQueue(ctx, &leadsmanv1.WatchQueueRequest{Source: source, Queue: queue})
	for err == nil {
		_, err = stream.Recv()
	}
	if ctx.Err() == nil {
		t.oddf("WatchQueue ended with %v", err)
	}
}

// rotates changes the access rules: a token is revoked, and another is let in.
func (k *keda) rotates(ctx context.Context, t *tally) {
	i := 0
	every(ctx, 5*time.Second, func() {
		i++
		id := fmt.Sprintf("passing-%d", i)
		if err := k.stage.configure(id); err != nil {
			t.oddf("change the rules: %v", err)
			return
		}
		k.passing.Store(&id)
		t.rules.Add(1)
	})
}
