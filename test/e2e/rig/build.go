package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A binary is a folder with a built leadsman. It is built at the first use and once in a process, since many tests need it
// and none changes it.
type binary struct {
	once sync.Once
	dir  string // "" if there is none
	err  error
}

var (
	built          binary // as it is released
	builtWithClock binary // with a clock that tests set
)

// Binary returns the path of leadsman, built from the source tree as it is released.
func Binary(tb testing.TB) string {
	tb.Helper()
	return built.path(tb, func() (string, error) { return build() })
}

// path returns where the program is, which the first call has built into a new folder.
func (b *binary) path(tb testing.TB, build func() (dir string, err error)) string {
	tb.Helper()
	b.once.Do(func() { b.dir, b.err = build() })
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return filepath.Join(b.dir, "leadsman")
}

// Remove removes what has been built. Nothing is built after that.
func Remove() {
	for _, b := range []*binary{&built, &builtWithClock} {
		b.once.Do(func() { b.err = errors.New("leadsman is used after rig.Remove") })
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
}

// Root returns the folder of leadsman's source tree.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// build builds leadsman with more flags of the go command.
func build(flags ...string) (dir string, err error) {
	source, err := root()
	if err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp("", "leadsman-e2e-")
	if err != nil {
		return "", err
	}
	args := append([]string{"build", "-o", filepath.Join(dir, "leadsman")}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/leadsman")...)
	cmd.Dir = source // so that it is built with its own go.mod, not with this module's
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("build leadsman: %w\n%s", err, out)
	}
	return dir, nil
}

// root asks the go command, so that packages at any depth of this module find it.
func root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/leadsman/leadsman").Output()
	if err != nil {
		return "", fmt.Errorf("find leadsman's source tree from a folder outside module test/e2e: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
