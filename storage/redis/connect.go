package redis

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

// timing holds the spans of connections; tests shorten them.
type timing struct {
	ping                   time.Duration // of silence, until the server is asked whether it is there
	pong                   time.Duration // for its answer
	backoffMin, backoffMax time.Duration // between attempts to connect
	upgrade                time.Duration // between attempts at a better way to notice changes
}

var defaultTiming = timing{
	ping: time.Second, pong: time.Second, backoffMin: 50 * time.Millisecond, backoffMax: 500 * time.Millisecond,
	upgrade: time.Minute,
}

// A session is a connection and what was found out about its server.
type session struct {
	client   rueidis.Client
	kind     kind
	db       int
	user     string // whose permissions count
	tracking bool
	untold   string // why there is no tracking
	clock    clock
	asking   atomic.Bool // somebody asks a cluster for the time

	noMulti, noRole, noTime atomic.Bool // the server refuses the command
	refused                 refusals

	life    context.Context //nolint:containedctx // done when the session is over; of what runs beside the callers
	endLife context.CancelFunc
	dirty   chan struct{} // size 1: any key may have changed
	ending  sync.Once
	tasks   *sync.WaitGroup
}

// end closes the connection. Calls under way fail.
func (s *session) end() {
	s.ending.Do(func() {
		s.endLife()
		s.tasks.Go(s.client.Close) // it waits for the calls under way, and one of them may be the caller's
	})
}

// spoil says that any key may have changed, or that the connection is broken. It never blocks.
func (s *session) spoil() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// A dialect is how much a connection takes for granted of its server.
type dialect int

const (
	tracked dialect = iota // RESP3 and CLIENT TRACKING
	plain                  // RESP3 where it is spoken
	ancient                // RESP2, without a word about protocol, names or versions
)

// connect begins a session in the best dialect that the server speaks.
func (e *Engine) connect(ctx context.Context) (*session, error) {
	text, err := e.cfg.URL()
	if err != nil {
		return nil, driver.Errorf(driver.Unavailable, "the URL cannot be had: %v", err)
	}
	t, err := parseURL(text)
	if err != nil {
		return nil, driver.Errorf(driver.Unavailable, "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	var s *session
	if t.kind == sentinel {
		s, err = e.bySentinel(ctx, t)
	} else {
		s, err = e.dial(ctx, t)
	}
	if err != nil {
		return nil, classify(ctx, err)
	}
	return s, nil
}

// dial connects to the addresses of a target.
func (e *Engine) dial(ctx context.Context, t target) (*session, error) {
	if t.resp2 {
		return e.speak(ctx, t, ancient, "the URL says protocol=2, and tracking takes 3")
	}
	s, err := e.speak(ctx, t, tracked, "")
	if errors.Is(err, rueidis.ErrNoCache) {
		return e.speak(ctx, t, plain, "the server refuses CLIENT TRACKING: "+firstLine(err))
	}
	if err == nil || ctx.Err() != nil || !hungUp(err) {
		return s, err
	}
	// It may be an old server or a proxy that closes the connection at a word that it does not know.
	if s, err := e.speak(ctx, t, ancient, "the server does not answer HELLO, and tracking takes it"); err == nil {
		return s, nil
	}
	return nil, err
}

// hungUp says that a server ended the connection, or refused HELLO.
func hungUp(err error) bool {
	if refused, ok := rueidis.IsRedisErr(err); ok {
		return strings.Contains(strings.ToLower(refused.Error()), "hello")
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, ": [") // rueidis adds the command's words
	return line
}

// speak connects in one dialect and makes sure of an answer.
func (e *Engine) speak(ctx context.Context, t target, d dialect, untold string) (*session, error) {
	s := &session{
		kind: t.kind, db: t.db, user: cmp.Or(t.username, defaultUser), tracking: d == tracked, untold: untold, tasks: &e.tasks,
		dirty: make(chan struct{}, 1),
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	option := rueidis.ClientOption{
		InitAddress: t.addresses, Username: t.username, Password: t.password, SelectDB: t.db, TLSConfig: t.tls,
		ForceSingleClient: t.kind != cluster, PipelineMultiplex: -1, DisableRetry: t.kind != cluster,
		ClientName: "leadsman", ClientSetInfo: rueidis.DisableClientSetInfo,
		DisableCache: d != tracked, ConnWriteTimeout: e.timing.pong,
		Dialer:    net.Dialer{Timeout: e.cfg.Timeout, KeepAlive: e.timing.ping},
		DialCtxFn: e.dialer(ctx, d),
	}
	switch d {
	case tracked:
		option.ClientTrackingOptions = []string{} // the default mode: what was read is told of once
		option.OnInvalidations = func(keys []rueidis.RedisMessage) { e.invalidated(s, keys) }
	case ancient:
		option.AlwaysRESP2, option.ClientName = true, ""
	case plain:
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		s.endLife()
		return nil, err
	}
	s.client = client
	if err := e.greet(ctx, s); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// greet asks for the server's clock, which makes sure of the connection.
func (e *Engine) greet(ctx context.Context, s *session) error {
	_, err := s.now(ctx)
	return err
}

// dialer connects to one address. The first connections are bounded by the session's start.
func (e *Engine) dialer(starting context.Context, d dialect) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		if starting.Err() == nil {
			if deadline, ok := starting.Deadline(); ok {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, deadline)
				defer cancel()
			}
		}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil && config != nil {
			conn, err = encrypt(ctx, conn, address, config)
		}
		if err == nil && d == ancient {
			conn = &silentConn{Conn: conn}
		}
		return conn, err
	}
}

// A silentConn says PING where the client says HELLO 2, which changes nothing but what an old server or a proxy thinks
// of it.
type silentConn struct {
	net.Conn

	said bool
}

var (
	hello2 = []byte("*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n")
	ping   = []byte("*1\r\n$4\r\nPING\r\n")
)

// Write implements net.Conn. HELLO is in the first write, which holds all that a connection begins with.
func (c *silentConn) Write(b []byte) (int, error) {
	if c.said {
		return c.Conn.Write(b)
	}
	c.said = true
	if _, err := c.Conn.Write(bytes.Replace(b, hello2, ping, 1)); err != nil {
		return 0, err
	}
	return len(b), nil
}
