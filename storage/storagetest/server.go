//go:build unix

package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Start starts a stopped or killed server again, on the same port, and returns when it answers.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	if err := c.start(); err != nil {
		tb.Fatal(err)
	}
}

// Stop shuts the server down in order, breaking off its connections, and returns when it is gone.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	if err := c.end(syscall.SIGINT); err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server and all its backends as a crash would, and returns when they are gone.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	if err := c.end(syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
}

// Signal sends sig to the server and all its backends. SIGSTOP freezes it: connections stay open and connecting
// succeeds, but nobody answers. SIGCONT ends that.
func (c *Cluster) Signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if c.server == nil {
		tb.Fatal("the server is stopped")
	}
	if err := c.server.signalAll(sig); err != nil {
		tb.Fatal(err)
	}
}

// start runs the server and waits until it answers.
func (c *Cluster) start() error {
	if c.server != nil {
		return errors.New("the server is running")
	}
	args := append([]string{"-D", c.data(), "-p", strconv.Itoa(c.port)}, c.settings...)
	program, args := c.clock.preload(filepath.Join(c.bin, "postgres"), args)
	s, err := runServer(c.dir, c.account, "QUIT", program, args...)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	c.server = s
	if err := c.ready(); err != nil {
		err = fmt.Errorf("start PostgreSQL: %w\n%s", err, logTail(c.dir))
		return errors.Join(err, c.end(syscall.SIGQUIT))
	}
	return nil
}

// ready waits until the server answers or is gone.
func (c *Cluster) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.SuperuserURL())
		if err == nil {
			return c.recognize(ctx, conn)
		}
		if c.server.gone(20 * time.Millisecond) {
			return errors.New("the server ended at once")
		}
		if ctx.Err() != nil {
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		}
	}
}

// recognize makes sure, by the data directory, that it is our server that has answered on our port, and closes conn.
func (c *Cluster) recognize(ctx context.Context, conn *pgx.Conn) error {
	defer conn.Close(ctx)
	var dir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir); err != nil {
		return err
	}
	if dir != c.data() {
		return fmt.Errorf("port %d was taken by another server", c.port)
	}
	var err error
	c.server.pid, err = c.postmaster()
	return err
}

// postmaster reads the server's process id from the file that it keeps in its data directory.
func (c *Cluster) postmaster() (int, error) {
	content, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	return strconv.Atoi(string(first))
}

// end ends the server by a signal, if it runs, and waits until it and its backends are gone.
func (c *Cluster) end(sig syscall.Signal) error {
	s := c.server
	if s == nil {
		return nil
	}
	c.server = nil
	return s.end(sig)
}

// remove stops the server, ready or not, and deletes its directory.
func (c *Cluster) remove() {
	if err := c.end(syscall.SIGQUIT); err != nil {
		fmt.Fprintf(os.Stderr, "stop the test server: %v\n", err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		fmt.Fprintf(os.Stderr, "remove the test server: %v\n", err)
	}
}
