package rig

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leadsman is static, so that no library can stand between it and the kernel's clock. A variant of it is built instead,
// from the same sources but for two changes, which are laid over them and are no part of the product: time.Now adds an
// offset to the wall reading, and not to the monotonic one, which is what a step of a real clock does; and SIGUSR2 sets
// the offset.
var (
	//go:embed testdata/clock/step.go
	clockStep []byte // added to package time
	//go:embed testdata/clock/follow.go
	clockFollow []byte // added to cmd/leadsman
)

// The reading in time.Now, and what takes its place.
const (
	clockReading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	clockPutOff  = clockReading + "\tsec += off.Load()\n"
)

const clockVariable = "E2E_CLOCK" // names the file with the offset

// BinaryWithClock returns the path of the variant of leadsman that [Server.OwnClock] runs.
func BinaryWithClock(tb testing.TB) string {
	tb.Helper()
	return builtWithClock.path(tb, buildWithClock)
}

func buildWithClock() (dir string, err error) {
	overlay, err := os.MkdirTemp("", "leadsman-e2e-overlay-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(overlay)
	source, err := root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = source
	goroot, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	timePackage := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	file, err := writeOverlay(overlay, timePackage, filepath.Join(source, "cmd", "leadsman"))
	if err != nil {
		return "", err
	}
	return build("-overlay", file)
}

// writeOverlay writes what is laid over the two packages, and the file that says so to the go command.
func writeOverlay(dir, timePackage, mainPackage string) (file string, err error) {
	original := filepath.Join(timePackage, "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := strings.Replace(string(text), clockReading, clockPutOff, 1)
	if changed == string(text) {
		return "", fmt.Errorf("time.Now in %s is not as it was: have rig's clock put off the wall reading of this one", original)
	}
	replace := map[string]string{}
	var errs []error
	lay := func(over, name string, content []byte) {
		replace[over] = filepath.Join(dir, name)
		errs = append(errs, os.WriteFile(replace[over], content, 0o600))
	}
	lay(original, "time.go", []byte(changed))
	lay(filepath.Join(timePackage, "e2e_step.go"), "step.go", clockStep)
	lay(filepath.Join(mainPackage, "e2e_follow.go"), "follow.go", clockFollow)
	told, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	errs = append(errs, os.WriteFile(file, told, 0o600))
	return file, errors.Join(errs...)
}

// OwnClock gives the server a wall clock of its own, which is right until SetClock. It is called before Start.
func (s *Server) OwnClock() {
	s.tb.Helper()
	program := BinaryWithClock(s.tb)
	s.Command = func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args[0] = program, program
		cmd.Env = append(cmd.Environ(), clockVariable+"="+s.clockFile())
	}
}

func (s *Server) clockFile() string { return filepath.Join(s.Dir, "clock") }

// SetClock puts the server's wall clock off the machine's, by whole seconds, and returns when the server goes by that.
func (s *Server) SetClock(off time.Duration) {
	s.tb.Helper()
	if err := os.WriteFile(s.clockFile(), fmt.Append(nil, int64(off.Seconds())), 0o600); err != nil {
		s.tb.Fatal(err)
	}
	s.Signal(syscall.SIGUSR2)
	Eventually(s.tb, startTimeout, fmt.Sprintf("the server's clock is off by %s", off), func() bool {
		const apart = 5 * time.Second // the answer may be slow
		return (s.clock() - off).Abs() < apart
	})
}

// clock is how far the server's wall clock is off, to a second: each answer of HTTP tells its date.
func (s *Server) clock() time.Duration {
	s.tb.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: startTimeout}
	asked := time.Now()
	resp, err := client.Get("http://" + s.HTTP + "/health")
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		s.tb.Fatalf("the server tells no date: %v", err)
	}
	return date.Sub(asked)
}
