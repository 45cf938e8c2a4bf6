package redis_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// A proxy passes bytes to a server, and hangs up at a word that it does not like.
func proxy(t *testing.T, to, dislikes string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(client, to, dislikes) })
		}
	})
	return listener.Addr().String()
}

func pass(client net.Conn, to, dislikes string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	defer back.Wait()
	defer func() { _ = server.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil || bytes.Contains(b[:n], []byte(dislikes)) {
			return
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
	}
}

// Case 37.
func TestProxyThatHangsUpAtHelloIsReadWithoutIt(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t, storagetest.WithPassword("hunter2"))
	engine := open(t, strings.Replace(server.URL(), server.Addr(), proxy(t, server.Addr(), "HELLO"), 1))
	shopOf(t, server).Insert("mail", 2)
	s := storagetest.Watch(t, engine)
	s.AwaitMode(t, driver.ModeEdgePoll, "HELLO")
	neverZero(t, engine, "mail", 2)
}
