package door

import (
	"net"
	"time"
)

// A peer that has gone without a word is for the kernel to notice, some half a minute later: it probes connections that say
// nothing, and bounds how long what was sent may stay unacknowledged.
const (
	probeAfter     = 15 * time.Second
	probeEvery     = 5 * time.Second
	probes         = 3
	unacknowledged = 30 * time.Second
)

// watchPeer sets that for a connection, where it is one of the kernel's.
func watchPeer(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	if err := tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes,
	}); err != nil {
		return err
	}
	return boundUnacknowledged(tcp, unacknowledged)
}
