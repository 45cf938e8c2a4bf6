//go:build unix

package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// guard runs a server and outlives this process by a moment: its standard input is a leash that ends when the
// process dies, in whatever way, and then it ends the server and removes the cluster's directory. A line on the
// leash lets it go without that. (A parent-death signal would be shorter, but only Linux has it, and it comes
// when the forking thread ends, which Go may do at any time.)
//
// When this process dies while the server is frozen, the kernel hangs up on the guard: hence the trap. It waits for
// the server in any case, because as long as that is a zombie its data directory counts as in use.
//
// Descriptor 3 is held by the server and its children alone: its other end sees when the last of them is gone.
const guard = `dir=$1; shift
"$@" </dev/null & exec 3>&-
trap '' HUP
if read -r released; then wait; exit 0; fi
kill -QUIT $!; kill -CONT $!; wait; rm -rf "$dir"`

// A server is a running postgres.
type server struct {
	guard *exec.Cmd
	leash *os.File // guard's standard input
	alive *os.File // ends when the server and all its children are gone
	pid   int      // of the postmaster; 0 until it is ready
}

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
	s, err := c.run()
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	c.server = s
	if err := c.ready(); err != nil {
		err = fmt.Errorf("start PostgreSQL: %w\n%s", err, c.logTail())
		return errors.Join(err, c.end(syscall.SIGQUIT))
	}
	return nil
}

// run starts the guard, and it the server.
func (c *Cluster) run() (*server, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	held, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	alive, life, err := os.Pipe()
	if err != nil {
		leash.Close()
		return nil, err
	}
	defer life.Close()

	args := []string{"-c", guard, "guard", c.dir, filepath.Join(c.bin, "postgres"), "-D", c.data(), "-p", strconv.Itoa(c.port)}
	cmd := exec.Command("/bin/sh", append(args, c.settings...)...)
	cmd.Dir = c.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = held, log, log, []*os.File{life}
	// A group of its own, so that Ctrl-C at a terminal reaches the test first and the guard not at all.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.account.credential()}
	if err := cmd.Start(); err != nil {
		leash.Close()
		alive.Close()
		return nil, err
	}
	return &server{guard: cmd, leash: leash, alive: alive}, nil
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

// end ends the server by a signal and waits until it and its backends are gone.
func (c *Cluster) end(sig syscall.Signal) error {
	s := c.server
	if s == nil {
		return nil
	}
	c.server = nil
	defer s.alive.Close()
	if s.pid == 0 {
		// It never got ready. The guard knows its process; without a line on the leash it takes all with it.
		s.leash.Close()
		return s.guardEnded()
	}
	err := s.signalEnd(sig)
	if !s.gone(startTimeout) {
		return errors.Join(err, fmt.Errorf("PostgreSQL did not end within %s\n%s", startTimeout, c.logTail()))
	}
	_, werr := s.leash.WriteString("released\n")
	s.leash.Close()
	return errors.Join(err, werr, s.guardEnded())
}

func (s *server) guardEnded() error {
	if err := s.guard.Wait(); err != nil {
		return fmt.Errorf("the server's guard: %w", err)
	}
	return nil
}

// signalEnd asks the server to end by sig, also if it is frozen.
func (s *server) signalEnd(sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		return s.signalAll(sig)
	}
	return errors.Join(syscall.Kill(s.pid, sig), s.signalAll(syscall.SIGCONT))
}

// signalAll signals the postmaster, which first can start no more children then, and its children.
func (s *server) signalAll(sig syscall.Signal) error {
	children, err := s.children()
	if err != nil {
		return err
	}
	for _, pid := range append([]int{s.pid}, children...) {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
	}
	return nil
}

// children lists the backends and auxiliary processes. They are in no common process group.
func (s *server) children() ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes with ps: %w", err)
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if _, err := fmt.Sscan(line, &pid, &parent); err == nil && parent == s.pid {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// gone says whether the server and all its children are gone, waiting for that at most d.
func (s *server) gone(d time.Duration) bool {
	if err := s.alive.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := s.alive.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
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

// logTail is the end of the server's log, for messages.
func (c *Cluster) logTail() string {
	content, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(content[max(0, len(content)-most):])
}
