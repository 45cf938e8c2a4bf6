package postgres_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A counter is a proxy that counts how often the direction of traffic turns towards the server.
type counter struct {
	dsn   string
	turns atomic.Int64
}

func newCounter(t *testing.T, dsn string) *counter {
	t.Helper()
	target, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := *target
	own.Host = listener.Addr().String()
	c := &counter{dsn: own.String()}
	var group sync.WaitGroup
	t.Cleanup(func() { listener.Close(); group.Wait() })
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target.Host)
			if err != nil {
				client.Close()
				return
			}
			var asking atomic.Bool
			group.Go(func() { c.pump(server, client, &asking, true) })
			group.Go(func() { c.pump(client, server, &asking, false) })
		}
	})
	return c
}

// pump copies one direction until it ends, and then ends the other.
func (c *counter) pump(to, from net.Conn, asking *atomic.Bool, towards bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if asking.Swap(towards) != towards && towards {
				c.turns.Add(1)
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				from.Close()
			}
			return
		}
	}
}
