package postgres

import (
	"context"
	"net"
	"time"
)

// closeWait is how long [Engine.Close] lets connections end in order.
const closeWait = 250 * time.Millisecond

// A dialer makes the engine's connections, and cuts all that are left of them at the end. pgx hangs up behind the back of
// whoever gave a statement up, and gives a server 15 s to take its request to cancel; a pool that closes waits for that, which
// is longer than a process has that is told to end.
type dialer struct {
	net     net.Dialer
	lasting context.Context //nolint:containedctx // the engine's life, which is longer than any call's
	cut     context.CancelFunc
}

func newDialer() *dialer {
	d := &dialer{net: net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}}
	d.lasting, d.cut = context.WithCancel(context.Background())
	return d
}

// dial is a pgconn.DialFunc. After the cut it fails.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.lasting, cancel)() //nolint:contextcheck // the engine's end counts too
	conn, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	cut := func() { _ = conn.Close() }                                         // whatever it says, the connection is gone
	return &cutConn{Conn: conn, spare: context.AfterFunc(d.lasting, cut)}, nil //nolint:contextcheck // it outlasts the call
}

// A cutConn is closed by its dialer's cut, unless it has been before.
type cutConn struct {
	net.Conn

	spare func() bool
}

func (c *cutConn) Close() error {
	c.spare()
	return c.Conn.Close()
}
