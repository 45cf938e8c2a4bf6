//go:build unix

package storagetest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

// A RedisServer is a throwaway Redis on loopback that persists nothing unless told to. It keeps its port over
// restarts. It starts in some 30 ms: a test makes one of its own, because client tracking, ACLs and notifications
// heed no border between logical databases.
//
// Start, Stop, Restart, Kill and Signal are for one goroutine; the other methods may be called by any.
type RedisServer struct {
	program  string
	dir      string       // holds redis.conf, log, pid, socket and the certificates
	port     int          // of TCP, in the clear or with TLS
	busPort  int          // of a cluster's node, for the other nodes
	password string       // of the user default; "" for none
	sentinel bool         // it is no server but watches over some
	cluster  bool         // it is a node of a cluster
	replicas int          // how many each primary of a set gets
	primary  *RedisServer // whose replica it begins as; nil for none
	config   []string     // more lines of redis.conf
	tls      *redisTLS    // nil for none
	ownClock bool
	clock    *clock  // nil for the machine's
	server   *server // nil while stopped

	mu     sync.Mutex
	client rueidis.Client // made when it is first asked for
}

// A RedisOption changes how StartRedis makes a RedisServer.
type RedisOption func(*RedisServer)

// WithConfig adds a directive to redis.conf. It may be given again, for directives that add up:
//
//	WithConfig("notify-keyspace-events", "Kl")
//	WithConfig("rename-command", "HELLO", "")
func WithConfig(name string, values ...string) RedisOption {
	return func(s *RedisServer) { s.config = append(s.config, directive(name, values...)) }
}

// WithPassword makes the server ask its user default for this password; without it, it trusts everybody on loopback.
func WithPassword(password string) RedisOption {
	return func(s *RedisServer) { s.password = password }
}

// ReplicaOf makes the server a replica of another, with its password and its certificates. StartRedis returns when it is in
// sync.
func ReplicaOf(primary *RedisServer) RedisOption {
	return func(s *RedisServer) { s.primary = primary }
}

// StartRedis starts a server. It is killed and removed when the test ends, and when the process does, however that
// dies.
func StartRedis(tb testing.TB, opts ...RedisOption) *RedisServer {
	tb.Helper()
	s, err := newRedis(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.remove)
	if s.primary != nil {
		until(tb, "the replica is in sync with its primary", func() bool { return s.info(tb, "master_link_status") == "up" })
	}
	return s
}

// newRedis makes the directory and starts the server on a free port.
func newRedis(opts ...RedisOption) (*RedisServer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("this test needs a Redis server, and redis-server was not found in PATH: " +
			"run `make deps`, or install the package redis-server")
	}
	s := &RedisServer{program: program}
	for _, opt := range opts {
		opt(s)
	}
	if s.dir, err = os.MkdirTemp("", "leadsman-redis-"); err != nil {
		return nil, err
	}
	if p := s.primary; p != nil {
		s.tls, s.password = p.tls, p.password
	}
	if s.tls != nil && s.tls.dir == "" {
		err = s.tls.write(s.dir)
	}
	if err == nil {
		err = s.makeClock()
	}
	if err == nil {
		err = s.startAnywhere()
	}
	if err == nil {
		return s, nil
	}
	err = fmt.Errorf("start Redis: %w\n%s", err, logTail(s.dir))
	s.remove()
	return nil, err
}

// startAnywhere starts the server on a free port. Between choosing one and listening on it, somebody else can take it: then
// it chooses again.
func (s *RedisServer) startAnywhere() error {
	var err error
	for range 3 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if s.busPort, err = freePort(); err != nil {
			return err
		}
		if err := s.configure(); err != nil {
			return err
		}
		if err = s.start(); !errors.Is(err, errEndedAtOnce) {
			return err
		}
	}
	return err
}

// configure writes redis.conf. Sentinels and the nodes of a cluster write to it, too.
func (s *RedisServer) configure() error {
	port := strconv.Itoa(s.port)
	lines := []string{
		directive("bind", "127.0.0.1"), directive("dir", s.dir),
		// The file socket is how this process knows its server from another that took the port.
		directive("unixsocket", s.socket()), directive("pidfile", s.pidFile()),
	}
	if s.tls == nil {
		lines = append(lines, directive("port", port))
	} else {
		lines = append(lines, directive("port", "0"), directive("tls-port", port))
		lines = append(lines, s.tls.directives()...)
	}
	if !s.sentinel {
		lines = append(lines, directive("save", ""), directive("repl-diskless-sync-delay", "0"))
	}
	if s.cluster {
		lines = append(lines, directive("cluster-enabled", "yes"), directive("cluster-port", strconv.Itoa(s.busPort)))
	}
	if s.primary != nil {
		lines = append(lines, directive("replicaof", "127.0.0.1", strconv.Itoa(s.primary.port)))
	}
	if s.password != "" {
		lines = append(lines, directive("requirepass", s.password))
		if !s.sentinel {
			lines = append(lines, directive("masterauth", s.password)) // what is a primary now may be a replica later
		}
	}
	lines = append(lines, s.config...)
	return os.WriteFile(s.configFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// directive is a line of redis.conf.
func directive(name string, values ...string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, v := range values {
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(v)) // Redis reads Go's escapes
	}
	return b.String()
}

func (s *RedisServer) configFile() string { return filepath.Join(s.dir, "redis.conf") }
func (s *RedisServer) pidFile() string    { return filepath.Join(s.dir, "pid") }
func (s *RedisServer) socket() string     { return filepath.Join(s.dir, "socket") }

// Addr is the server's host and port.
func (s *RedisServer) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is the server's TCP port.
func (s *RedisServer) Port() int { return s.port }

// URL is the URL of the logical database 0 for the user default: redis:// or, with TLS, rediss://.
func (s *RedisServer) URL() string { return s.url(nil) }

// UserURL is the URL of the logical database 0 for a user, such as one that AddUser made.
func (s *RedisServer) UserURL(name, password string) string {
	return s.url(url.UserPassword(name, password))
}

func (s *RedisServer) url(user *url.Userinfo) string {
	u := url.URL{Scheme: "redis", User: user, Host: s.Addr(), Path: "/0"}
	if s.tls != nil {
		u.Scheme = "rediss"
	}
	if user == nil && s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}
