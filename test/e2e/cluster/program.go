package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// endTimeout is how long a program has to end in order.
const endTimeout = 20 * time.Second

// A program is one of the cluster's, and runs at most once at a time.
type program struct {
	name string
	path string
	args []string
	env  []string // beside PATH
	log  string   // file; what each run writes is added to it

	cmd   *exec.Cmd
	ended chan struct{} // closed when the run is over
}

// start runs the program.
func (p *program) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir = filepath.Dir(p.log)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go func(ended chan<- struct{}) {
		_ = cmd.Wait() // how it ends is told by its log
		close(ended)
	}(p.ended)
	return nil
}

// end signals the program and waits until it is gone; if it does not go by itself, it is killed.
func (p *program) end(sig syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(endTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %s of %s:\n%s", p.name, endTimeout, sig, p.tail())
	}
}

// await asks until the program is ready. If it ends first, that is the error.
func (p *program) await(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended by itself:\n%s", p.name, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail is the end of what the program wrote.
func (p *program) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	const most = 4000
	return strings.ToValidUTF8(string(text[max(0, len(text)-most):]), "")
}
