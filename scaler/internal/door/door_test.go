package door_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/scaler/internal/door"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bed is a door on loopback, with a client and the server's end of each connection that was let in.
type bed struct {
	t    *testing.T
	door *door.Door
	log  bytes.Buffer
}

func open(t *testing.T, newcomers, all int) *bed {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t}
	b.door = door.New(listener, door.Bounds{Newcomers: newcomers, All: all}, slog.New(slog.NewTextHandler(&b.log, nil)))
	t.Cleanup(func() { _ = b.door.Close() })
	return b
}

// dial connects; the server's end is for accept to take.
func (b *bed) dial() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.door.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// visit connects and is let in.
func (b *bed) visit() (client, server net.Conn) {
	b.t.Helper()
	client = b.dial()
	server, err := b.door.Accept()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// hungUp tells whether the server has closed a client's connection; it waits until there is no doubt.
func (b *bed) hungUp(client, server net.Conn) bool {
	b.t.Helper()
	if _, err := server.Write([]byte("x")); errors.Is(err, net.ErrClosed) {
		b.ends(client)
		return true
	}
	return false
}

// ends reads until the end of a connection.
func (b *bed) ends(client net.Conn) {
	b.t.Helper()
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, client); err != nil {
		b.t.Errorf("the client's end: %v", err)
	}
}

func TestTheOldestOfTooManyNewcomersIsHungUpOn(t *testing.T) {
	b := open(t, 2, 10)
	var clients, servers []net.Conn
	for range 4 {
		client, server := b.visit()
		clients, servers = append(clients, client), append(servers, server)
	}
	for i, want := range []bool{true, true, false, false} {
		if got := b.hungUp(clients[i], servers[i]); got != want {
			t.Errorf("connection %d: hung up on = %t, want %t", i, got, want)
		}
	}
	if n := strings.Count(b.log.String(), "turned away"); n != 1 {
		t.Errorf("the log says %d times that connections are turned away, want once:\n%s", n, b.log.String())
	}
}

func TestWhoWasHeardKeepsItsPlace(t *testing.T) {
	b := open(t, 1, 3)
	client, server := b.visit()
	if err := server.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := server.SetDeadline(time.Time{}); err != nil { // as gRPC does
		t.Fatal(err)
	}
	secure, under := b.visit()
	door.Heard(tls.Server(under, &tls.Config{})) // as HTTP does
	silent, silentEnd := b.visit()
	if b.hungUp(client, server) || b.hungUp(secure, under) || b.hungUp(silent, silentEnd) {
		t.Error("somebody was hung up on, and there is room")
	}
	late, lateEnd := b.visit()
	if !b.hungUp(silent, silentEnd) || b.hungUp(late, lateEnd) || b.hungUp(client, server) || b.hungUp(secure, under) {
		t.Error("the only one that was silent had to go")
	}
	door.Heard(lateEnd)
	door.Heard(nil)
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := b.door.Accept()
		accepted <- conn
	}()
	b.ends(b.dial()) // the fourth
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err == nil {
		t.Error("closed twice")
	}
	b.dial()
	select {
	case conn := <-accepted:
		_ = conn.Close()
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is let in, and there is room")
	}
}
