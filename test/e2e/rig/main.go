package rig

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/leadsman/leadsman/storage/storagetest"
)

const (
	// Promptly is the deadline for what takes milliseconds on a machine with nothing else to do.
	Promptly = 2 * time.Second
	// Resync is the deadline for what only the poll each 10 s finds.
	Resync = 15 * time.Second
	// Reload is the deadline for a changed file to be in force; the server looks each 2 s.
	Reload = 15 * time.Second
)

// Main runs the tests of a package and exits. It fails if goroutines are left, but for those that opts ignore.
func Main(m *testing.M, opts ...goleak.Option) {
	flag.Parse()
	os.Exit(run(m, opts))
}

func run(m *testing.M, opts []goleak.Option) int {
	defer Remove()
	LogKEDA(testing.Verbose())
	// What KEDA's libraries start when they are imported is not ours to stop.
	return storagetest.Main(m, append(opts, goleak.IgnoreCurrent())...)
}

// LogKEDA keeps what KEDA's scalers log for [StreamErrors], and shows it on standard error if it is asked to.
func LogKEDA(show bool) { log.SetLogger(kedaLogger(show)) }

// Eventually waits for a condition that other processes bring about, and fails the test if that takes longer.
func Eventually(tb testing.TB, within time.Duration, what string, condition func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(within); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s", within, what)
		}
	}
}
