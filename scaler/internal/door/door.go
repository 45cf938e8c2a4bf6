// Package door bounds the connections that a server has open, so that a flood of them takes neither its memory nor its
// place from the clients that it has.
//
// A connection is a newcomer until the server has heard something sensible on it: for gRPC the preface of HTTP/2 (after the
// TLS handshake, where there is one), for HTTP a first request that was answered, or let in to a stream. When there are too
// many newcomers the oldest is hung up on. An honest client is none for longer than a moment; those that stay are
// connections that say nothing, or little by little, and each has the server's own timeout besides. Connections that are no
// newcomers keep their place: at the bound of all, the next one has to wait outside. Those whose peer has gone without a word
// the kernel gives up.
package door

import (
	"container/list"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// Bounds are how many connections a listener may have open; none is 0.
type Bounds struct {
	Newcomers int // of which nothing sensible was heard
	All       int
}

// logEvery is how often the log says that connections were turned away.
const logEvery = time.Minute

// A Door is a listener whose connections are bounded. Make one with New.
type Door struct {
	net.Listener

	bounds Bounds
	log    *slog.Logger

	mu        sync.Mutex
	open      int
	newcomers list.List // of *guest, the oldest first
	turned    int       // connections that were turned away since the log said so
	logged    time.Time
}

// New puts bounds on a listener.
func New(listener net.Listener, bounds Bounds, log *slog.Logger) *Door {
	return &Door{Listener: listener, bounds: bounds, log: log}
}

// Accept waits for the next connection that is let in.
func (d *Door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		_ = watchPeer(conn) // fails where the peer is gone already
		g := &guest{Conn: conn, door: d}
		out := d.letIn(g)
		if out != nil {
			_ = out.Close() // nobody is there who could be told
		}
		if out != g {
			return g, nil
		}
	}
}

// letIn takes a guest in, and returns whom to hang up on for that: an earlier newcomer, the guest, or nobody.
func (d *Door) letIn(g *guest) (out *guest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldest := d.newcomers.Front()
	if d.newcomers.Len() >= d.bounds.Newcomers || d.open >= d.bounds.All {
		d.turnedLocked()
		if oldest == nil {
			return g
		}
		out = oldest.Value.(*guest) //nolint:forcetypeassert // nothing else is in the list
		d.leaveLocked(out)
	}
	d.open++
	g.in, g.place = true, d.newcomers.PushBack(g)
	return out
}

// turnedLocked counts who is turned away, for the log.
func (d *Door) turnedLocked() {
	d.turned++
	if now := time.Now(); now.Sub(d.logged) >= logEvery {
		d.log.Warn("connections are turned away: too many are open, or open and silent",
			"turned_away", d.turned, "open", d.open, "silent", d.newcomers.Len(), "address", d.Addr().String())
		d.logged, d.turned = now, 0
	}
}

// leaveLocked gives a guest's places free, once.
func (d *Door) leaveLocked(g *guest) {
	if g.in {
		d.open--
		g.in = false
	}
	d.heardLocked(g)
}

// heardLocked takes a guest from the newcomers, if it is one.
func (d *Door) heardLocked(g *guest) {
	if g.place != nil {
		d.newcomers.Remove(g.place)
		g.place = nil
	}
}

// Heard says that a connection, or what it is wrapped in, is a newcomer no more. Connections of other listeners are
// ignored.
func Heard(conn net.Conn) {
	for {
		switch c := conn.(type) {
		case *guest:
			c.heard()
			return
		case interface{ NetConn() net.Conn }: // TLS
			conn = c.NetConn()
		default:
			return
		}
	}
}

// A guest is a connection that was let in.
type guest struct {
	net.Conn

	door *Door

	// Guarded by the door's mutex.
	in    bool
	place *list.Element // among the newcomers
}

// Close gives the guest's places free.
func (g *guest) Close() error {
	g.door.mu.Lock()
	g.door.leaveLocked(g)
	g.door.mu.Unlock()
	return g.Conn.Close()
}

// SetDeadline is what the gRPC server calls, and the HTTP server does not: with a deadline before it has read the preface,
// and without one as soon as it has.
func (g *guest) SetDeadline(t time.Time) error {
	if t.IsZero() {
		g.heard()
	}
	return g.Conn.SetDeadline(t)
}

func (g *guest) heard() {
	g.door.mu.Lock()
	defer g.door.mu.Unlock()
	g.door.heardLocked(g)
}

// SyscallConn gives the server the socket, as the bare connection would.
func (g *guest) SyscallConn() (syscall.RawConn, error) {
	if conn, ok := g.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, syscall.ENOTSUP
}
