package inspect_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/inspect"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bed is a server that a test looks inside of, over gRPC and in memory.
type bed struct {
	leadsmanv1.InspectorClient // as people ask
	leadsmanv1.SignalsClient   // as producers tell

	t      *testing.T
	keda   pb.ExternalScalerClient // as KEDA asks
	server *scaler.Server
	stop   func() // may be called again
}

// serve starts a server on bufconn, with the access rules of tokens. It is stopped when the test ends.
func serve(t *testing.T, tokens []scaler.Token, sources ...scaler.Source) *bed {
	t.Helper()
	listener := bufconn.Listen(64 << 10)
	b := serveOn(t, listener, tokens, sources...)
	conn, err := grpc.NewClient("passthrough:leadsman",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b.InspectorClient, b.SignalsClient = leadsmanv1.NewInspectorClient(conn), leadsmanv1.NewSignalsClient(conn)
	b.keda = pb.NewExternalScalerClient(conn)
	return b
}

func serveOn(t *testing.T, listener net.Listener, tokens []scaler.Token, sources ...scaler.Source) *bed {
	t.Helper()
	server, err := scaler.New(scaler.Options{
		Sources: sources, Listener: listener, Access: scaler.Access{Tokens: tokens}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	inspect.Register(server)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	b := &bed{t: t, server: server, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})}
	t.Cleanup(b.stop)
	return b
}

// source makes a source as the server takes it.
func source(t *testing.T, name string, reader driver.Reader, opts ...storage.Option) scaler.Source {
	t.Helper()
	opts = append([]storage.Option{storage.WithTraits(storage.Traits{Engine: "memory", Preset: "none", Location: "here"})}, opts...)
	s, err := storage.New(name, reader, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return scaler.Source{Source: s}
}

// mint makes a token with scopes inspect and read, and its place in the access rules.
func mint(t *testing.T, grant scaler.Grant) (string, scaler.Token) {
	t.Helper()
	token, sum, err := scaler.MintToken(grant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return token, scaler.Token{Grant: grant, SHA256: sum}
}

// bearing is a context that carries a token.
func bearing(t *testing.T, token string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
}

// ref is a trigger of the ScaledObject team/worker, its metadata given as key, value and so on.
func ref(metadata ...string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Name: "worker", Namespace: "team", ScalerMetadata: pairs(metadata...)}
}

func pairs(texts ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(texts); i += 2 {
		out[texts[i]] = texts[i+1]
	}
	return out
}

// same compares messages.
func same(t *testing.T, what string, got, want proto.Message) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantStatus tells whether err is a status of this code whose message holds all of the texts.
func wantStatus(t *testing.T, err error, code codes.Code, texts ...string) {
	t.Helper()
	if got := status.Code(err); got != code {
		t.Errorf("code = %v (%v), want %v", got, err, code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// listen opens a stream as KEDA does and drains it until the test ends.
func (b *bed) listen(ref *pb.ScaledObjectRef) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	stream, err := b.keda.StreamIsActive(ctx, ref)
	if err != nil {
		b.t.Fatal(err)
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	time.Sleep(time.Millisecond) // the bubble's clock stands still while anything runs: the stream has looked once
}

// A watch is what a WatchQueue stream has been sent.
type watch struct {
	mu    sync.Mutex
	got   []*leadsmanv1.WatchQueueResponse
	err   error
	ended bool
}

// watch opens a WatchQueue stream in a synctest bubble and notes what it is sent.
func (b *bed) watch(ctx context.Context, req *leadsmanv1.WatchQueueRequest) *watch {
	b.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	b.t.Cleanup(cancel)
	stream, err := b.WatchQueue(ctx, req)
	if err != nil {
		b.t.Fatal(err)
	}
	w := &watch{}
	go func() {
		for {
			resp, err := stream.Recv()
			w.mu.Lock()
			if err != nil {
				w.err, w.ended = err, true
				w.mu.Unlock()
				return
			}
			w.got = append(w.got, resp)
			w.mu.Unlock()
		}
	}()
	time.Sleep(time.Millisecond)
	return w
}

// take returns what has come since the last take.
func (w *watch) take() []*leadsmanv1.WatchQueueResponse {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got
	w.got = nil
	return got
}

// end returns how the stream ended; nil for io.EOF, and false while it is open.
func (w *watch) end() (error, bool) { //nolint:revive // the bool belongs to it
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, io.EOF) {
		return nil, true
	}
	return w.err, w.ended
}
