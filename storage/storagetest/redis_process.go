//go:build unix

package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// errEndedAtOnce says that a server ended before it answered: its port was taken, or it did not like its configuration.
var errEndedAtOnce = errors.New("the server ended at once")

// Start starts a stopped or killed server again, on the same port, and returns when it answers.
func (s *RedisServer) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("start Redis again: %v\n%s", err, logTail(s.dir))
	}
}

// Stop shuts the server down in order, breaking off its connections, and returns when it is gone.
func (s *RedisServer) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.end(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
}

// Restart is Stop and Start. What was not persisted is lost.
func (s *RedisServer) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop(tb)
	s.Start(tb)
}

// Kill ends the server as a crash would, and returns when it is gone.
func (s *RedisServer) Kill(tb testing.TB) {
	tb.Helper()
	if err := s.end(syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
}

// Signal sends sig to the server. SIGSTOP freezes it: connections stay open and connecting succeeds, but nobody
// answers. SIGCONT ends that.
func (s *RedisServer) Signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if !s.running() {
		tb.Fatal("the server is stopped")
	}
	if err := s.server.signalAll(sig); err != nil {
		tb.Fatal(err)
	}
}

// start runs the server and waits until it answers.
func (s *RedisServer) start() error {
	if s.running() {
		return errors.New("the server is running")
	}
	for _, stale := range []string{s.pidFile(), s.socket()} { // of a server that was killed
		if err := os.Remove(stale); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	args := []string{s.configFile()}
	if s.sentinel {
		args = append(args, "--sentinel")
	}
	var err error
	program, args := s.clock.preload(s.program, args)
	if s.server, err = runServer(s.dir, nil, "KILL", program, args...); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		return errors.Join(err, s.end(syscall.SIGKILL))
	}
	return nil
}

func (s *RedisServer) running() bool { return s.server != nil }

// ready waits until the server answers or is gone.
func (s *RedisServer) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := s.ping(ctx)
		if err == nil {
			s.server.pid, err = s.readPID()
			return err
		}
		if s.server.gone(2 * time.Millisecond) {
			return errEndedAtOnce
		}
		if ctx.Err() != nil {
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		}
	}
}

// ping asks on the server's file socket whether it is there and has loaded its data.
func (s *RedisServer) ping(ctx context.Context) error {
	conn, err := s.dialSocket(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if text := string(answer[:n]); strings.HasPrefix(text, "-LOADING") {
		return errors.New(text)
	}
	return nil // "+PONG", or an error such as that a password is missing
}

func (s *RedisServer) dialSocket(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", s.socket())
}

func (s *RedisServer) readPID() (int, error) {
	content, err := os.ReadFile(s.pidFile())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(content)))
}

// end ends the server by a signal, if it runs, and waits until it is gone.
func (s *RedisServer) end(sig syscall.Signal) error {
	s.closeClient()
	running := s.server
	if running == nil {
		return nil
	}
	s.server = nil
	return running.end(sig)
}

// remove kills the server, ready or not, and deletes its directory.
func (s *RedisServer) remove() {
	if err := s.end(syscall.SIGKILL); err != nil {
		fmt.Fprintf(os.Stderr, "stop the test's Redis: %v\n", err)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		fmt.Fprintf(os.Stderr, "remove the test's Redis: %v\n", err)
	}
}
