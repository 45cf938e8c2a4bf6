//go:build unix

package storagetest

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// binaries returns the directory that holds postgres and initdb.
func binaries() (string, error) {
	for _, dir := range folders() {
		if isProgram(dir, "postgres") && isProgram(dir, "initdb") {
			return dir, nil
		}
	}
	return "", errors.New("this test needs a PostgreSQL server, and postgres and initdb were found neither in PATH " +
		"nor by pg_config nor in /usr/lib/postgresql/*/bin: run `make deps`, or install the package postgresql")
}

// Program finds another of PostgreSQL's programs, such as pgbench.
func Program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range folders() {
		if isProgram(dir, name) {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("PostgreSQL's %s was found neither in PATH nor where the server is: run `make deps`", name)
}

// folders are where PostgreSQL's programs may be: where PATH has initdb, where pg_config says, and then the newest version
// in the places where distributions put it (Debian keeps them out of PATH).
func folders() []string {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern) // fails on a malformed pattern only
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		dirs = append(dirs, found...)
	}
	return dirs
}

// version takes the major version out of a path such as /usr/lib/postgresql/15/bin; 0 when there is none.
func version(dir string) int {
	name := filepath.Base(filepath.Dir(dir))
	n, _ := strconv.Atoi(name[strings.LastIndexAny(name, "-@")+1:]) // a name without a number sorts last
	return n
}

func isProgram(dir, name string) bool {
	_, err := exec.LookPath(filepath.Join(dir, name))
	return err == nil
}
