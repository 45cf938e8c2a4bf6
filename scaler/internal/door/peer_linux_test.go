package door_test

import (
	"errors"
	"log/slog"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leadsman/leadsman/scaler/internal/door"
)

// gRPC's own way of noticing goes by the wall clock, which may be put back.
func TestKernelNoticesAPeerThatIsGone(t *testing.T) {
	t.Parallel()
	conn, err := accepted(t)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]struct{ level, name, want int }{
		"SO_KEEPALIVE":     {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"TCP_KEEPIDLE":     {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		"TCP_KEEPINTVL":    {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
		"TCP_KEEPCNT":      {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
		"TCP_USER_TIMEOUT": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000},
	}
	if err := raw.Control(func(fd uintptr) {
		for name, o := range options {
			if got, err := unix.GetsockoptInt(int(fd), o.level, o.name); err != nil || got != o.want {
				t.Errorf("%s = %d, %v, want %d", name, got, err, o.want)
			}
		}
	}); err != nil {
		t.Error(err)
	}
}

// The network between a server and its client goes away, and neither is told.
func TestConnectionToAPeerThatIsGoneEnds(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"nothing is said": "", "something is said": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, cut := pair(t)
			cut()
			if _, err := server.Write([]byte(says)); err != nil {
				t.Fatal(err)
			}
			if err := server.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
				t.Errorf("the connection ends with %v, want the kernel's time-out", err)
			}
		})
	}
}

// pair is a connection that a door let in, over a network of its own, and what cuts that.
func pair(t *testing.T) (server net.Conn, cut func()) {
	t.Helper()
	type made struct {
		conn net.Conn
		err  error
	}
	ready, over, down := make(chan made), make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and the network with it
		var m made
		if m.err = errors.Join(unix.Unshare(unix.CLONE_NEWNET), loopback(unix.IFF_UP)); m.err == nil {
			m.conn, m.err = accepted(t)
		}
		ready <- m
		if m.err != nil {
			return
		}
		<-over
		down <- loopback(0)
	}()
	got := <-ready
	if errors.Is(got.err, unix.EPERM) {
		t.Skip("a network of its own takes root")
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.conn, func() {
		close(over)
		if err := <-down; err != nil {
			t.Fatal(err)
		}
	}
}

// accepted is a connection that a door let in.
func accepted(t *testing.T) (net.Conn, error) {
	t.Helper()
	var at net.ListenConfig
	listener, err := at.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := door.New(listener, door.Bounds{Newcomers: 1, All: 1}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = d.Close() })
	var dialer net.Dialer
	client, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = client.Close() })
	server, err := d.Accept()
	if err == nil {
		t.Cleanup(func() { _ = server.Close() })
	}
	return server, err
}

// loopback sets whether the thread's only interface is up.
func loopback(up uint16) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }() // nothing was written
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(up)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
