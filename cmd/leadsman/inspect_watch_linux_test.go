package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal of so many lines: what is written to screen can be read from far.
func terminal(t *testing.T, rows uint16) (far, screen *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = far.Close() })
	if err := unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: 120}); err != nil {
		t.Fatal(err)
	}
	return far, screen
}

func TestWatchRedrawsATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	for name, args := range map[string][]string{"one queue": {"jobs", "mail"}, "all queues": nil} {
		t.Run(name, func(t *testing.T) {
			address, stores := serveMemory(t, "jobs")
			stores[0].Enqueue("mail", 2)
			far, screen := terminal(t, 24)
			shown := newLines()
			go func() { _, _ = io.Copy(shown, far) }() // ends when the terminal is closed
			ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
			defer interrupt()
			ended := make(chan error, 1)
			go func() {
				root := newRootCommand()
				root.SetArgs(append([]string{"inspect", "watch", "--server", address, "--interval", "100ms"}, args...))
				root.SetOut(screen)
				ended <- root.ExecuteContext(ctx)
			}()
			shown.await(ctx, t, `^\x1b\[\?1049h`)
			shown.await(ctx, t, `mail +2 +0 .*\x1b\[32mactive`)
			stores[0].Enqueue("mail", 3)
			shown.await(ctx, t, `\x1b\[H[^\x00]*\x1b\[1mmail\x1b\[0m +5 `) // drawn over, what has changed in bold
			interrupt()
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
			left, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			shown.await(left, t, `\x1b\[\?1049l$`)
		})
	}
}
