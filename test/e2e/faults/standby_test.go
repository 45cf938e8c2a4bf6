package faults

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// standbyOf makes a server that streams from another: a cluster whose data are replaced by a copy of the other's.
func standbyOf(t *testing.T, primary *storagetest.Cluster) *storagetest.Cluster {
	t.Helper()
	backup, err := storagetest.Program("pg_basebackup")
	if err != nil {
		t.Fatal(err)
	}
	standby := storagetest.StartCluster(t, durable)
	dir := dataDirectory(t, standby)
	standby.Stop(t)
	owner := ownerOf(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(primary.Address())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), backup, "--pgdata="+dir, "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		"--username=postgres", "--host="+host, "--port="+port)
	cmd.Dir = filepath.Dir(dir)
	if owner.Uid != uint32(os.Getuid()) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	standby.Start(t)
	return standby
}

// ownerOf is who a directory belongs to: the account that the server runs as.
func ownerOf(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owners on this system")
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}
