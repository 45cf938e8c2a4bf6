package docker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user and group that the image and the chart have.
const nobody = 65532

// Variables by which a test starts itself as what makes a container.
const (
	envImage   = "LEADSMAN_TEST_IMAGE"   // the folder that is to be the root
	envVolumes = "LEADSMAN_TEST_VOLUMES" // folder=path in the image, parted by colons; with a ! before it, it can be written
)

// exitForbidden is the exit code of a test that may make no container here.
const exitForbidden = 126

func TestMain(m *testing.M) {
	if image := os.Getenv(envImage); image != "" {
		err := enter(image, os.Getenv(envVolumes), os.Args)
		fmt.Fprintln(os.Stderr, "no container:", err)
		if errors.Is(err, unix.EPERM) {
			os.Exit(exitForbidden)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A container is the image as a kubelet runs it: read-only root, no capabilities, no privileges to be had, and a user that
// nobody knows. It has the network of the test.
type container struct {
	image   string            // folder
	volumes map[string]string // folder by path in the image; with a ! before it, it can be written
	env     []string
}

// command makes a command of the image's binary. Its process is the binary's own.
func (c *container) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var volumes []string
	for path, folder := range c.volumes {
		volumes = append(volumes, folder+"="+path)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(slices.Clone(c.env), envImage+"="+c.image, envVolumes+"="+strings.Join(volumes, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if os.Geteuid() != 0 { // in a namespace of users of its own
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT}
	}
	return cmd
}

// enter becomes the binary of an image. It returns only where it cannot.
func enter(image, volumes string, args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := bind(image, image, true); err != nil {
		return err
	}
	if err := unix.Mount("/proc", filepath.Join(image, "proc"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	for volume := range strings.SplitSeq(volumes, ":") {
		folder, path, ok := strings.Cut(volume, "=")
		if !ok {
			continue
		}
		folder, writable := strings.CutPrefix(folder, "!")
		if err := bind(folder, filepath.Join(image, path), !writable); err != nil {
			return err
		}
	}
	if err := unix.Chroot(image); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := drop(); err != nil {
		return err
	}
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "LEADSMAN_TEST_") {
			env = append(env, pair)
		}
	}
	return unix.Exec("/leadsman", append([]string{"/leadsman"}, args[1:]...), env)
}

// bind mounts a folder at a place.
func bind(folder, at string, readOnly bool) error {
	if err := unix.Mount(folder, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_NOSUID | unix.MS_NODEV)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", at, "", flags, ""); err != nil {
		return fmt.Errorf("%s, read-only: %w", at, err)
	}
	return nil
}

// drop gives up all privileges, and the way to new ones.
func drop() error {
	if os.Getuid() == 0 { // not in a namespace where we are nobody already
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(nobody, nobody, nobody), unix.Setresuid(nobody, nobody, nobody)); err != nil {
			return fmt.Errorf("setuid: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	return nil
}
