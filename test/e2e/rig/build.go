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

// built is the folder with the built leadsman. It is built at the first use and once in a process, since many tests
// need it and none changes it.
var built struct {
	once sync.Once
	dir  string // "" if there is none
	err  error
}

// Binary returns the path of leadsman, built from the source tree as it is released.
func Binary(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() { built.dir, built.err = build() })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return filepath.Join(built.dir, "leadsman")
}

// Remove removes what [Binary] has built. Nothing is built after that.
func Remove() {
	built.once.Do(func() { built.err = errors.New("leadsman is used after rig.Remove") })
	if built.dir != "" {
		os.RemoveAll(built.dir)
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

func build() (dir string, err error) {
	source, err := root()
	if err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp("", "leadsman-e2e-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "leadsman"), "./cmd/leadsman")
	cmd.Dir = source // so that it is built with its own go.mod, not with this module's
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
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
