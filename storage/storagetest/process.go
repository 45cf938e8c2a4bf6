//go:build unix

package storagetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// guard runs a server and outlives this process by a moment: its standard input is a leash that ends when the
// process dies, in whatever way, and then it ends the server and removes the server's directory. A line on the
// leash keeps the directory: "end" ends the server, "released" says that it has ended. (A parent-death signal would be shorter, but only Linux has it, and it comes
// when the forking thread ends, which Go may do at any time.)
//
// When this process dies while the server is frozen, the kernel hangs up on the guard: hence the trap. It waits for
// the server in any case, because as long as that is a zombie its data directory counts as in use.
//
// Descriptor 3 is held by the server and its children alone: its other end sees when the last of them is gone.
const guard = `dir=$1; signal=$2; shift 2
"$@" </dev/null & exec 3>&-
trap '' HUP
read -r order
if [ "$order" != released ]; then kill -$signal $!; kill -CONT $!; fi
wait
if [ -z "$order" ]; then rm -rf "$dir"; fi`

// A server is a running server program and its guard.
type server struct {
	dir   string // goes when this process does; holds log, what the program prints
	guard *exec.Cmd
	leash *os.File // guard's standard input
	alive *os.File // ends when the server and all its children are gone
	pid   int      // of the server's first process; 0 until whoever started it knows that it is ready
}

// runServer starts a guard, and it the program, in the directory dir and as the account. The guard ends the program, if it has
// to, by the signal of the name quit.
func runServer(dir string, account *account, quit, program string, args ...string) (*server, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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

	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "guard", dir, quit, program}, args...)...)
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = held, log, log, []*os.File{life}
	// A group of its own, so that Ctrl-C at a terminal reaches the test first and the guard not at all.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: account.credential()}
	if err := cmd.Start(); err != nil {
		leash.Close()
		alive.Close()
		return nil, err
	}
	return &server{dir: dir, guard: cmd, leash: leash, alive: alive}, nil
}

// end ends the server by a signal and waits until it and its children are gone. It is called once.
func (s *server) end(sig syscall.Signal) error {
	defer s.alive.Close()
	if s.pid == 0 {
		// It never got ready, and only the guard knows its process.
		return s.release("end")
	}
	err := s.signalEnd(sig)
	if !s.gone(startTimeout) {
		return errors.Join(err, fmt.Errorf("the server did not end within %s\n%s", startTimeout, logTail(s.dir)))
	}
	return errors.Join(err, s.release("released"))
}

// release gives the guard its order and waits until it has ended.
func (s *server) release(order string) error {
	_, err := s.leash.WriteString(order + "\n")
	s.leash.Close()
	if werr := s.guard.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("the server's guard: %w", werr))
	}
	return err
}

// signalEnd asks the server to end by sig, also if it is frozen.
func (s *server) signalEnd(sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		return s.signalAll(sig)
	}
	return errors.Join(syscall.Kill(s.pid, sig), s.signalAll(syscall.SIGCONT))
}

// signalAll signals the first process, which then can start no more children, and its children.
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

// children lists the server's other processes. PostgreSQL's are in no common process group.
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

// logTail is the end of the log of the server in dir, for messages.
func logTail(dir string) string {
	content, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return string(content[max(0, len(content)-most):])
}
