//go:build unix

package storagetest

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// Client is a client for the test's own writes and questions, as the user default. It speaks RESP2 over the server's file
// socket, so that it works whatever the test does to TCP, TLS or HELLO, and its connections are called storagetest in
// CLIENT LIST. It is closed when the server is stopped or killed; ask for another then.
func (s *RedisServer) Client(tb testing.TB) rueidis.Client { //nolint:ireturn // rueidis's client is an interface
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.socket()},
		DialCtxFn: func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.dialSocket(ctx)
		},
		Password:          s.password,
		ClientName:        "storagetest",
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		AlwaysRESP2:       true,
		AlwaysPipelining:  true, // it notices at once when the server closes the connection, as sentinels make it do
		DisableCache:      true,
		ForceSingleClient: true, // a node of a cluster is asked itself
	})
	if err != nil {
		tb.Fatalf("connect to the test's Redis: %v", err)
	}
	s.client = client
	return client
}

func (s *RedisServer) closeClient() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
}

// Do runs one command, given as Redis has it on its command line, and returns what it answers. An error fails the test;
// nil is none, though rueidis calls it so.
func (s *RedisServer) Do(tb testing.TB, command ...string) rueidis.RedisResult {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := s.Client(tb)
	answer := client.Do(ctx, client.B().Arbitrary(command...).Build())
	if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
		tb.Fatalf("redis: %s: %v", strings.Join(command, " "), err)
	}
	return answer
}

// AddUser makes a user by ACL SETUSER, which may do what the rules say and nothing else:
//
//	s.AddUser(t, "reader", "secret", "%R~queue:*", "+llen", "+hello")
func (s *RedisServer) AddUser(tb testing.TB, name, password string, rules ...string) {
	tb.Helper()
	s.Do(tb, append([]string{"ACL", "SETUSER", name, "reset", "on", ">" + password}, rules...)...)
}

// info is the value of a field of INFO; "" when there is none.
func (s *RedisServer) info(tb testing.TB, field string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := s.Client(tb)
	// Read-only: tried again on another connection when a sentinel has closed this one.
	text, err := client.Do(ctx, client.B().Arbitrary("INFO", "everything").ReadOnly()).ToString()
	if err != nil {
		tb.Fatalf("redis: INFO: %v", err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// until waits for a condition that other processes bring about.
func until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			tb.Fatalf("not within %s: %s", startTimeout, what)
		case <-again.C:
		}
	}
}
