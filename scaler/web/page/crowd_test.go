package page

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage/memory"
)

// A page that is looked at keeps its place when connections that say nothing come in crowds, even where the stream is the
// first thing that its connection has asked for: that request does not end.
func TestAStreamOutlivesACrowdOfSilentConnections(t *testing.T) {
	store := memory.New()
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := web.Server{Handler: b.handler, ShutdownTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	stream := open(t, &http.Client{Transport: own}, "http://"+listener.Addr().String())
	t.Cleanup(stream.cancel)
	until(stream, "queues", func(queuesView) bool { return true })

	const newcomers = 2048 // that the server has room for
	crowd := make([]net.Conn, newcomers+1)
	for i := range crowd {
		if crowd[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = crowd[i].Close() })
	}
	_ = crowd[0].SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, crowd[0]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the crowd has come, and its first is still there")
	}
	store.Enqueue("late", 7)
	until(stream, "queues", hasReady("late", 7))
}
