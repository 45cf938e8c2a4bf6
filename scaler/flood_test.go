package scaler_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// overTCP starts a server on loopback and returns its address; the bed's own client is of that address.
func overTCP(t *testing.T, change func(*scaler.Options), sources ...scaler.Source) (*bed, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, func(o *scaler.Options) {
		o.Listener = listener
		if change != nil {
			change(o)
		}
	}, sources...)
	b.ExternalScalerClient = newClient(t, listener.Addr().String())
	return b, listener.Addr().String()
}

// newClient is an honest client with a connection of its own.
func newClient(t *testing.T, addr string) pb.ExternalScalerClient { //nolint:ireturn // KEDA's generated code has no other type
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

// dialTCP connects and says nothing but the words, which may be none.
func dialTCP(t *testing.T, addr, words string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, words); err != nil && !gone(err) {
		t.Fatal(err)
	}
	return conn
}

// gone says that the server has hung up.
func gone(err error) bool { return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) }

// hungUp reads until the server hangs up, for so long.
func hungUp(conn net.Conn, within time.Duration) bool {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	_, err := io.Copy(io.Discard, conn)
	return err == nil || gone(err)
}

// waitFor waits for what other goroutines bring about.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

// Connections that say nothing, or half of what they have to, cost the server a bounded memory and nobody else the service.
func TestAFloodOfSilentConnectionsLeavesOthersServed(t *testing.T) {
	b, addr := overTCP(t, nil, source(t, "jobs", mixed()))
	b.wantValue(ref("queue", "mail"), 5) // one client is there before
	const flood, most = 2000, 1000       // most: newcomers at once, and some
	goroutines, before := runtime.NumGoroutine(), heap()
	var silent []net.Conn
	for i := range flood {
		words := []string{"", "PRI * HTTP/2.0\r\n", "\x16\x03\x01\x02", "GET / HTTP/1.1\r\nX: "}[i%4]
		silent = append(silent, dialTCP(t, addr, words))
	}
	if _, err := newClient(t, addr).IsActive(t.Context(), ref("queue", "mail")); err != nil {
		t.Errorf("a client that comes during the flood: %v", err)
	}
	b.wantValue(ref("queue", "mail"), 5)
	if grown := heap() - before; grown > most*(64<<10) {
		t.Errorf("%d bytes are in use for %d connections", grown, flood)
	}
	if grown := runtime.NumGoroutine() - goroutines; grown > 2*most {
		t.Errorf("%d goroutines are there for %d connections", grown, flood)
	}
	for i, conn := range silent[:flood-most] {
		if !hungUp(conn, 30*time.Second) {
			t.Fatalf("connection %d of %d is still open", i, flood)
		}
	}
	if strings.Count(b.log.String(), "turned away") != 1 {
		t.Errorf("the log says other than once that connections were turned away: %.1000s", b.log)
	}
}

func TestASilentConnectionIsHungUpOnAfterTheHandshakesTime(t *testing.T) {
	t.Parallel()
	_, addr := overTCP(t, nil, source(t, "jobs", mixed()))
	conn := dialTCP(t, addr, "PRI * HT")
	if !hungUp(conn, time.Minute) {
		t.Error("it is still open after a minute")
	}
}

// A frame of HTTP/2 (RFC 9113, 4.1).
func frame(kind, flags byte, stream uint32, payload string) string {
	head := make([]byte, 9)
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	return string(head) + payload
}

// The parts of HTTP/2 that a client needs who wants to read nothing.
const (
	frameData, frameHeaders, frameSettings = 0, 1, 4
	endStream, endHeaders                  = 1, 4

	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// noWindow is SETTINGS_INITIAL_WINDOW_SIZE 0: the server may send no data.
	noWindow = "\x00\x04\x00\x00\x00\x00"
)

// openStream is the frames of a call of StreamIsActive, its header fields without compression (RFC 7541, 6.2.2).
func openStream(t *testing.T, id uint32, trigger *pb.ScaledObjectRef) string {
	t.Helper()
	text := func(s string) string { return string(rune(len(s))) + s }
	headers := "\x83\x86" + // POST, http
		"\x04" + text("/externalscaler.ExternalScaler/StreamIsActive") + "\x01" + text("leadsman") +
		"\x00" + text("content-type") + text("application/grpc") + "\x00" + text("te") + text("trailers")
	body, err := proto.Marshal(trigger)
	if err != nil {
		t.Fatal(err)
	}
	prefix := make([]byte, 5)
	binary.BigEndian.PutUint32(prefix[1:], uint32(len(body)))
	return frame(frameHeaders, endHeaders, id, headers) + frame(frameData, endStream, id, string(prefix)+string(body))
}

// A client that opens streams and never reads costs a bounded memory, however often it would have to be woken, and
// others are woken meanwhile.
func TestReadersThatNeverReadCostABoundedMemory(t *testing.T) {
	store := memory.New()
	b, addr := overTCP(t, nil, source(t, "jobs", store))
	const streams, wakes = 500, 100_000
	conn := dialTCP(t, addr, preface+frame(frameSettings, 0, 0, noWindow))
	for i := range uint32(streams) {
		if _, err := io.WriteString(conn, openStream(t, 2*i+1, ref("queue", "mail"))); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the streams are open", func() bool { return b.status().Streams == streams })
	before := heap()
	for range wakes {
		store.Set("mail", memory.State{})
		store.Set("mail", memory.State{Ready: 1})
	}
	waitFor(t, "each stream has something to say", func() bool { return b.status().Waiting == 0 })
	honest, err := b.StreamIsActive(t.Context(), ref("queue", "other"))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "one more stream is open", func() bool { return b.status().Streams == streams+1 })
	store.Enqueue("other", 1)
	if resp, err := honest.Recv(); err != nil || !resp.GetResult() {
		t.Errorf("the stream of another client: %v, %v", resp, err)
	}
	if grown := heap() - before; grown > streams*(16<<10) {
		t.Errorf("%d bytes more are in use after %d wakes of %d streams", grown, wakes, streams)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the streams are gone", func() bool { return b.status().Streams == 1 })
}
