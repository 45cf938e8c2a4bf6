package postgres_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// pgbouncer puts a transaction pooler with one server connection in front of a database, without support for
// prepared statements, and returns the URL that leads through it.
func pgbouncer(t *testing.T, dsn string, settings ...string) string {
	t.Helper()
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatal("pgbouncer is missing; install it (Debian: apt-get install pgbouncer, macOS: brew install pgbouncer)")
	}
	target, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	port := storagetest.FreePort(t)
	dir, err := os.MkdirTemp("", "pgbouncer") //nolint:usetesting // another user has to reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	lines := append([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s user=%s", target.Hostname(), target.Port(), target.User.Username()),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port), "unix_socket_dir =",
		"auth_type = any", "pool_mode = transaction", "default_pool_size = 1",
	}, settings...)
	config := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, config)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = unprivileged(t, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	target.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	through := target.String()
	eventually(t, "pgbouncer answers", func() bool {
		config, err := pgx.ParseConfig(through)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err == nil
	})
	return through
}

// unprivileged lets a program that refuses root run, as the user of the PostgreSQL packages.
func unprivileged(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
