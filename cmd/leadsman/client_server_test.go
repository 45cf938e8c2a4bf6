package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/inspect"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/memory"
)

// serveMemory starts a server with sources in memory, by the names given, and returns its address.
func serveMemory(t *testing.T, names ...string) (address string, stores []*memory.Store) {
	t.Helper()
	sources := make([]scaler.Source, len(names))
	for i, name := range names {
		stores = append(stores, memory.New())
		source, err := storage.New(name, stores[i])
		if err != nil {
			t.Fatal(err)
		}
		sources[i] = scaler.Source{Source: source}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := scaler.New(scaler.Options{Sources: sources, Listener: listener, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	inspect.Register(server)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return listener.Addr().String(), stores
}

// leadsman runs a command in this process.
func leadsman(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err = root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestEveryPageIsRead(t *testing.T) {
	const most = pageSize + 7
	address, stores := serveMemory(t, "jobs")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range most {
		name := fmt.Sprintf("q%04d", i)
		stores[0].Enqueue(name, 1)
		if _, err := pb.NewExternalScalerClient(conn).GetMetricSpec(t.Context(), &pb.ScaledObjectRef{
			Namespace: "n", Name: name, ScalerMetadata: map[string]string{"queue": name},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"queues", "triggers"} {
		out, err := leadsman(t, "inspect", list, "--server", address, "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		var got map[string][]map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		seen := map[any]bool{}
		for _, item := range got[list] {
			name := item["name"]
			if list == "triggers" {
				name = item["object"]
			}
			seen[name] = true
		}
		if len(seen) != most {
			t.Errorf("%d of %d %s", len(seen), most, list)
		}
	}
}

// One dead source hides no other: what could be read is shown, and the exit code tells that it is not all.
func TestQueuesOfOtherSourcesAreShownWhenOneIsDead(t *testing.T) {
	address, stores := serveMemory(t, "alive", "dead")
	stores[0].Enqueue("mail", 3)
	stores[1].Fail(errors.New("out of order"))
	out, err := leadsman(t, "inspect", "queues", "--server", address)
	if _, failed := errors.AsType[*failedError](err); !failed || !strings.Contains(err.Error(), "dead") {
		t.Errorf("the error is %v", err)
	}
	if !regexp.MustCompile(`(?m)^alive +mail +3 `).MatchString(out) {
		t.Errorf("the living source is missing in\n%s", out)
	}
}

func TestAnAddressThatNeverAnswersIsGivenUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address := silent.Addr().String()
	_, err = leadsman(t, "inspect", "sources", "--server", address, "--timeout", "50ms")
	if want := "no answer from " + address + " within 50ms"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAServerThatIsNotLeadsmanIsRecognised(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := grpc.NewServer()
	ended := make(chan error, 1)
	go func() { ended <- other.Serve(listener) }()
	_, err = leadsman(t, "inspect", "sources", "--server", listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "is it a leadsman server") {
		t.Errorf("%v", err)
	}
	other.Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What grpc and crypto/tls say of a connection, and what is made of it. Where a test can bring it about for real,
// testdata/client/tls.txtar does.
func TestUnreachableSaysWhatToDo(t *testing.T) {
	plain := &client{clientOptions: clientOptions{server: "h:1"}}
	secure := &client{clientOptions: clientOptions{server: "h:1", tls: true}}
	certified := &client{clientOptions: clientOptions{server: "h:1", certFile: "c.crt"}}
	for _, c := range []struct {
		client *client
		text   string
		want   string
	}{
		{
			plain,
			`connection error: desc = "transport: Error while dialing: dial tcp: lookup h: no such host"`,
			"no leadsman server answers at h:1: dial tcp: lookup h: no such host. Start one",
		},
		{plain, `connection error: desc = "error reading server preface: EOF"`, "closes the connection: is it the gRPC address, and does it speak TLS?"},
		{plain, `read tcp 1->2: read: connection reset by peer`, "does it speak TLS?"},
		{
			secure,
			`connection error: desc = "error reading server preface: remote error: tls: certificate required"`,
			"does it ask for a client certificate? Then add --cert-file and --key-file (error reading server preface: remote error: tls: certificate required)",
		},
		{certified, `write tcp 1->2: write: broken pipe`, "refuses the client certificate of c.crt, it seems"},
		{certified, `remote error: tls: unknown certificate authority`, "refuses the client certificate of c.crt"},
		{secure, `tls: first record does not look like a TLS handshake`, "h:1 speaks no TLS"},
		{secure, `x509: certificate signed by unknown authority`, "name the CA by --ca-file"},
		{secure, `x509: certificate is valid for a, not h`, "give that by --server-name"},
		{secure, `x509: certificate has expired or is not yet valid`, "no leadsman server answers at h:1: x509: certificate has expired"},
	} {
		if got := c.client.unreachable(c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s\n gives %s\n want  %s", c.text, got, c.want)
		}
	}
}

// A queue that its source forgets is told of, and an interrupt is how a watch ends.
func TestWatchTellsThatAQueueIsGone(t *testing.T) {
	address, stores := serveMemory(t, "jobs")
	stores[0].Enqueue("mail", 2)
	lines := newLines()
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	ended := make(chan error, 1)
	go func() {
		root := newRootCommand()
		root.SetArgs([]string{"inspect", "watch", "--server", address, "--interval", "100ms"})
		root.SetOut(lines)
		ended <- root.ExecuteContext(ctx)
	}()
	lines.await(ctx, t, `jobs/mail ready=2 running=0 scheduled=0 .*active\n`)
	stores[0].Discard("mail")
	lines.await(ctx, t, `jobs/mail ready=0 running=0 scheduled=0 (idle|unknown)\n`)
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// lines is output that can be waited for.
type lines struct {
	text  chan string // holds what was written so far
	added chan struct{}
}

func newLines() *lines {
	l := &lines{text: make(chan string, 1), added: make(chan struct{}, 1)}
	l.text <- ""
	return l
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.text <- <-l.text + string(p)
	select {
	case l.added <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await waits until the output has the pattern.
func (l *lines) await(ctx context.Context, t *testing.T, pattern string) {
	t.Helper()
	for {
		text := <-l.text
		l.text <- text
		if regexp.MustCompile(pattern).MatchString(text) {
			return
		}
		select {
		case <-l.added:
		case <-ctx.Done():
			t.Fatalf("waited for %s in\n%q", pattern, text)
		}
	}
}
