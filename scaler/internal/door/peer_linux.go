package door

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// boundUnacknowledged sets TCP_USER_TIMEOUT. gRPC would, but does not know a connection that is wrapped.
func boundUnacknowledged(conn *net.TCPConn, bound time.Duration) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(bound.Milliseconds()))
	}); err != nil {
		return err
	}
	return failed
}
