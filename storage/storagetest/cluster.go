//go:build unix

package storagetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// startTimeout bounds the start and the stop of a server; generous, for a loaded machine and the race detector.
const startTimeout = 60 * time.Second

// A Cluster is a throwaway PostgreSQL server on loopback with a data directory of its own. It keeps its port
// over restarts. Its methods are for one goroutine, except Database, URL and SuperuserURL.
type Cluster struct {
	bin      string
	dir      string // holds data/ and log
	port     int
	password string
	settings []string
	account  *account // nil when this process may run the server itself
	ownClock bool
	clock    *clock  // nil for the machine's
	server   *server // nil while stopped
	lastDB   atomic.Int64
}

// An Option changes how StartCluster makes a Cluster.
type Option func(*Cluster)

// Setting sets a parameter of postgresql.conf.
func Setting(name, value string) Option {
	return func(c *Cluster) { c.settings = append(c.settings, "-c", name+"="+value) }
}

// Password makes the server ask for this password (SCRAM); without it, it trusts everybody on loopback.
func Password(password string) Option {
	return func(c *Cluster) { c.password = password }
}

// StartCluster starts a server for a test that stops, kills or freezes it, or needs settings of its own. It is
// stopped and removed when the test ends. Tests that only need a database call [Postgres], which is cheaper.
func StartCluster(tb testing.TB, opts ...Option) *Cluster {
	tb.Helper()
	c, err := newCluster(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.remove)
	return c
}

// newCluster makes the data directory and starts the server.
func newCluster(opts ...Option) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, settings: []string{
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		// Nothing here has to survive a power cut.
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "max_connections=60", "-c", "shared_buffers=16MB", "-c", "max_prepared_transactions=4",
		"-c", "log_line_prefix=%m [%p] ",
	}}
	for _, opt := range opts {
		opt(c)
	}
	if c.account, err = serverAccount(); err != nil {
		return nil, err
	}
	if err := c.create(); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// create makes the directory, the data in it, and starts the server on a free port.
func (c *Cluster) create() error {
	var err error
	if c.dir, err = os.MkdirTemp("", "leadsman-postgres-"); err != nil {
		return err
	}
	if err := c.account.own(c.dir); err != nil {
		return err
	}
	if err := c.initdb(); err != nil {
		return err
	}
	if err := c.makeClock(); err != nil {
		return err
	}
	// Between choosing a free port and listening on it, somebody else can take it: then choose again.
	for range 3 {
		if c.port, err = freePort(); err != nil {
			return err
		}
		if err = c.start(); err == nil {
			return nil
		}
	}
	return err
}

func (c *Cluster) initdb() error {
	args := []string{"--pgdata=" + c.data(), "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"}
	if c.password == "" {
		args = append(args, "--auth=trust")
	} else {
		file := filepath.Join(c.dir, "password")
		if err := os.WriteFile(file, []byte(c.password+"\n"), 0o600); err != nil {
			return err
		}
		if err := c.account.own(file); err != nil {
			return err
		}
		args = append(args, "--auth=scram-sha-256", "--pwfile="+file)
	}
	cmd := exec.Command(filepath.Join(c.bin, "initdb"), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.account.credential()}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// SuperuserURL is the URL of the database postgres.
func (c *Cluster) SuperuserURL() string { return c.URL("postgres") }

// URL is the URL of a database for the superuser, postgres.
func (c *Cluster) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: "sslmode=disable",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
	}
	if c.password != "" {
		u.User = url.UserPassword("postgres", c.password)
	}
	return u.String()
}

// Address is the server's host and port, for a proxy in front of it.
func (c *Cluster) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// Database creates an empty database, to be dropped when the test ends, and returns its URL.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d", c.lastDB.Add(1))
	if err := c.exec("CREATE DATABASE " + name); err != nil {
		tb.Fatalf("create a test database: %v", err)
	}
	tb.Cleanup(func() {
		if c.server == nil {
			return // stopped by the test; its directory goes with the cluster
		}
		// FORCE, because a connection that the test closed a moment ago may still be there.
		if err := c.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			tb.Errorf("drop the test database: %v", err)
		}
	})
	return c.URL(name)
}

// exec runs one statement as superuser.
func (c *Cluster) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.SuperuserURL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}
