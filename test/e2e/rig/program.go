package rig

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopTimeout is for the end after SIGTERM; leadsman's own deadline is 10 s.
const stopTimeout = 15 * time.Second

// A Program is a child process that runs until it is terminated or killed.
type Program struct {
	Log *Log // what it has written to standard error

	tb    testing.TB
	cmd   *exec.Cmd
	ended chan struct{} // closed when err is set
	err   error         // how it ended
	asked bool          // to end
}

// Leadsman makes a command of the built binary in a folder, with the test's environment but for what would configure it.
func Leadsman(tb testing.TB, dir string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(Binary(tb), args...)
	cmd.Dir = dir
	cmd.Env = []string{}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LEADSMAN_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	return cmd
}

// Run runs a subcommand of leadsman to its end and returns what it wrote to standard output.
func Run(tb testing.TB, dir string, args ...string) []byte {
	tb.Helper()
	cmd := Leadsman(tb, dir, args...)
	cmd.Stderr = tb.Output()
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("leadsman %v: %v", args, err)
	}
	return out
}

// Start starts any command whose standard output and error are free. What it writes is shown if the test fails. It has to
// run until it is terminated, which happens at the end of the test at the latest, and then has to end with exit code 0.
func Start(tb testing.TB, cmd *exec.Cmd) *Program {
	tb.Helper()
	p := &Program{Log: &Log{}, tb: tb, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout = tb.Output()
	cmd.Stderr = io.MultiWriter(tb.Output(), p.Log)
	dieWithUs(cmd)
	started := make(chan error, 1)
	go func() {
		// The kernel ends the child when the thread that forked it ends: this goroutine keeps it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if !p.asked {
			p.Terminate()
		}
	})
	return p
}

// PID returns the process's id.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Program) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal, such as SIGSTOP and SIGCONT.
func (p *Program) Signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.tb.Errorf("%v: %v", sig, err)
	}
}

// Kill ends the process by SIGKILL.
func (p *Program) Kill() {
	p.tb.Helper()
	p.asked = true
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// Terminate sends SIGTERM, as Kubernetes does, and expects exit code 0.
func (p *Program) Terminate() {
	p.tb.Helper()
	p.asked = true
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		if p.err != nil {
			p.tb.Errorf("%s ended with %v, want exit code 0", p.cmd.Path, p.err)
		}
	case <-time.After(stopTimeout):
		p.tb.Errorf("%s did not end within %s of SIGTERM", p.cmd.Path, stopTimeout)
		p.Kill()
	}
}
