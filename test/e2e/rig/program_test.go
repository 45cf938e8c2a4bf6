package rig_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

// inChild is set in the environment of the test binary that a test runs.
const inChild = "RIG_TEST_IN_CHILD"

// A timeout of go test is a panic, and no cleanup runs then.
func TestProgramsDoNotOutliveAPanic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	if os.Getenv(inChild) != "" {
		sleep := rig.Start(t, exec.Command("sleep", "1000"))
		t.Logf("started=%d", sleep.PID())
		go panic("in a goroutine that is not the test's, as a timeout's")
		select {}
	}
	self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(os.Environ(), inChild+"=1")
	out, err := self.CombinedOutput()
	if err == nil {
		t.Fatalf("the child did not panic:\n%s", out)
	}
	pid := startedIn(t, string(out))
	rig.Eventually(t, 10*time.Second, "the program has ended", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

func startedIn(t *testing.T, out string) int {
	t.Helper()
	for scanner := bufio.NewScanner(strings.NewReader(out)); scanner.Scan(); {
		if _, number, found := strings.Cut(scanner.Text(), "started="); found {
			pid, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("the child started nothing:\n%s", out)
	return 0
}

func TestRunningProgramsSurviveOtherThreads(t *testing.T) {
	p := rig.Start(t, exec.Command("sleep", "1000"))
	for range 100 { // threads that end
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(done)
		}()
		<-done
	}
	select {
	case <-p.Ended():
		t.Error("the program ended with a thread of its parent")
	case <-time.After(200 * time.Millisecond):
	}
	p.Kill()
}
