//go:build image

package docker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A buildah builds images as an engine does, with no daemon and no registry. What it keeps goes with the test; of the machine it
// takes what the Dockerfile's base image would bring, which no registry is asked for:
//
//   - the Go toolchain, mounted read-only where the official image has it;
//   - the modules, already downloaded, as a file system that is a module proxy: `go mod download` still holds each to go.sum;
//   - the build cache, since the same compiler has the same results for the same input, whoever asked first;
//   - a shell: BusyBox.
type buildah struct {
	dir     string   // its images, and what it writes meanwhile
	volumes []string // of the machine, source:target[:ro]
}

// containerfile makes the base image. Its variables are those of the official image, but for the two ways to what is mounted.
const containerfile = `FROM scratch
COPY . /
ENV GOTOOLCHAIN=local GOPATH=/go PATH=/go/bin:/usr/local/go/bin:/bin
ENV GOPROXY=file:///machine/modules GOCACHE=/machine/cache HOME=/root
`

// newBuildah makes one that has the image from which the Dockerfile builds. The certificates are those of that image.
func newBuildah(t *testing.T, certificates []byte) *buildah {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("to build an image needs root: the files of one belong to root, and its commands are run in a root of their own")
	}
	b := &buildah{dir: t.TempDir()}
	// Already here in a tree that was built; what is not yet comes as the machine gets its modules.
	output(t, command(t, root, "go", "mod", "download"))
	places := strings.Fields(output(t, command(t, root, "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE", "GOVERSION")))
	if len(places) != 4 {
		t.Fatalf("the folders of Go have blanks in their names, or are not: %q", places)
	}
	b.volumes = []string{
		places[0] + ":/usr/local/go:ro",
		filepath.Join(places[1], "cache", "download") + ":/machine/modules:ro",
		places[2] + ":/machine/cache",
	}
	making, _ := stages(t)
	name := found(t, `(golang:\S+)`, making.the(t, "FROM"))
	t.Logf("for %s stands %s", name, places[3])
	b.base(t, name, certificates)
	return b
}

// base builds an image that stands for one of Docker's library.
func (b *buildah) base(t *testing.T, name string, certificates []byte) {
	t.Helper()
	files := t.TempDir()
	put(t, filepath.Join(files, bundle), certificates)
	shell := filepath.Join(files, "bin", "sh")
	put(t, shell, []byte(read(t, busybox(t))))
	temporary := filepath.Join(files, "tmp")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{shell: 0o755, temporary: 0o777 | os.ModeSticky} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	b.bud(t, b.file(t, containerfile), files, "docker.io/library/"+name)
}

// busybox is the path of one that runs where there is nothing else.
func busybox(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v: run scripts/deps image", err)
	}
	static(t, path)
	return path
}

// image builds what the Dockerfile says for an architecture, and returns the folder where it then lies.
func (b *buildah) image(t *testing.T, architecture string) *layout {
	t.Helper()
	args := []string{
		"--platform", "linux/" + architecture,
		"--build-arg", "BUILDPLATFORM=linux/" + runtime.GOARCH, // as BuildKit says by itself, and Debian's buildah does not
		"--build-arg", "VERSION=" + version,
	}
	for _, volume := range b.volumes {
		args = append(args, "--volume", volume)
	}
	return b.layout(t, "Dockerfile", args...)
}

// layout builds an image of the repository by a Dockerfile.
func (b *buildah) layout(t *testing.T, dockerfile string, args ...string) *layout {
	t.Helper()
	dir := t.TempDir()
	b.bud(t, dockerfile, root, "oci:"+dir+":image", args...)
	return &layout{dir}
}

// file writes a Dockerfile of the tests' own, and returns its path.
func (b *buildah) file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Dockerfile")
	put(t, path, []byte(text))
	return path
}

// bud builds by a Dockerfile, from a folder, to a name.
func (b *buildah) bud(t *testing.T, dockerfile, from, to string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	store, state := filepath.Join(b.dir, "images"), filepath.Join(b.dir, "state")
	args = append([]string{
		"--root", store, "--runroot", state, "--storage-driver", "vfs",
		"bud", "--isolation", "chroot", "--pull=never", "--disable-compression=false", "--file", dockerfile, "--tag", to,
	}, args...)
	cmd := exec.CommandContext(ctx, "buildah", append(args, from)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+b.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // it then removes what it was working on
	cmd.WaitDelay = 10 * time.Second
	// What it mounts is seen by nobody else, and goes with it however it ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGTERM}
	output(t, cmd)
}

func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	return cmd
}

// output runs a command that has to succeed, and returns what it writes, errors apart.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &complaints)
	}
	return string(out)
}
