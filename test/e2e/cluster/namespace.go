package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is set in the environment of the process that runs in namespaces of its own, to the folder of the cluster's programs.
const inside = "LEADSMAN_E2E_INSIDE"

// enter runs this program again with the same arguments, in new namespaces, and returns its exit code:
//
//   - network: the cluster's programs have their usual ports, some of which they bind on all addresses;
//   - mount: the names of Services are in /etc/hosts, so that our manifests are used as they are;
//   - process: it is the first process in there, and all others end with it.
func enter(programs string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"="+programs)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The signal comes when the thread ends that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("make namespaces for the cluster (this needs root): %w", err)
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// furnish makes the new namespaces ready: loopback is up, /proc shows the processes that there are here, and /etc/hosts is ours.
func furnish(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	hosts := filepath.Join(dir, "hosts")
	if err := os.WriteFile(hosts, []byte(hostsFile()), 0o644); err != nil { // as /etc/hosts is: all may read it
		return err
	}
	if err := unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /etc/hosts: %w", err)
	}
	return raiseLoopback()
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}
