package docker

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/leadsman/leadsman/storage/storagetest"
)

const (
	bundle  = "/etc/ssl/certs/ca-certificates.crt"
	version = "v1.2.3-image" // that the image is built with
)

// build carries the Dockerfile out, and returns the folder that is the image. For the certificates of the building image stand
// those that are given.
func build(t *testing.T, certificates []byte) string {
	t.Helper()
	making, image := stages(t)
	from, to := t.TempDir(), t.TempDir()
	buildContext(t, from)
	commands := making.all("RUN") // the first loads modules, which are here
	made := map[string]string{"/leadsman": filepath.Join(t.TempDir(), "leadsman"), bundle: filepath.Join(t.TempDir(), "ca.crt")}
	compile := exec.CommandContext(t.Context(), "sh", "-euc", strings.Replace(commands[len(commands)-1], "-o /leadsman", "-o "+made["/leadsman"], 1))
	compile.Dir = from
	compile.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION="+version, "GOWORK=off", "GOFLAGS=-mod=readonly")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	put(t, made[bundle], certificates)
	for _, copied := range image.all("COPY") {
		words := strings.Fields(strings.TrimPrefix(copied, "--from=build "))
		source, ok := made[words[0]]
		if len(words) != 2 || !ok {
			t.Fatalf("COPY %s: this test knows nothing of it", copied)
		}
		target := filepath.Join(to, words[1])
		if strings.HasSuffix(words[1], "/") {
			target = filepath.Join(target, filepath.Base(words[0]))
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		put(t, target, text)
	}
	// The binary can be run by all, as go build leaves it; /proc and the places of volumes are made by whoever runs the image.
	for _, path := range []string{"leadsman", ""} {
		if err := os.Chmod(filepath.Join(to, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// folder makes one that nobody may read, and write where that is asked for.
func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs the image with volumes, and returns what it writes and its exit code.
func run(t *testing.T, c *container, args ...string) (output string, code int) {
	t.Helper()
	cmd := c.command(t, args...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.ExitCode() == exitForbidden {
			t.Skipf("no container can be made here: %s", out)
		}
		return string(out), exit.ExitCode()
	}
	if errors.Is(err, unix.EPERM) {
		t.Skipf("no container can be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// places makes what a runtime makes in an image before it mounts there.
func places(t *testing.T, image string, paths ...string) {
	t.Helper()
	for _, path := range append(paths, "proc") {
		if err := os.MkdirAll(filepath.Join(image, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// The image is built once, and each test looks at another side of it.
func TestTheImage(t *testing.T) {
	trusted, key := certificate(t)
	looks(t, build(t, trusted), trusted, key)
}

// looks at an image from all sides. Its certificates are the one that is given, whose key is there too.
func looks(t *testing.T, image string, trusted, key []byte) {
	t.Run("holds the binary and certificates alone", func(t *testing.T) { holds(t, image) })
	t.Run("has a static binary", func(t *testing.T) { static(t, filepath.Join(image, "leadsman")) })
	places(t, image, "etc/leadsman", "data")
	t.Run("knows its version", func(t *testing.T) {
		if out, code := run(t, &container{image: image}, "version"); code != 0 || !strings.Contains(out, " "+version+" ") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("says that it cannot write", func(t *testing.T) {
		out, code := run(t, &container{image: image}, "serve", "--grpc-listen", "127.0.0.1:0", "--http-listen", "off")
		if code == 0 || !strings.Contains(out, "no source is configured, and the embedded queue cannot be written: open leadsman.db: ") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("serves as the chart runs it", func(t *testing.T) { serves(t, image) })
	t.Run("trusts its certificates", func(t *testing.T) { trusts(t, image, trusted, key) })
}

func holds(t *testing.T, image string) {
	var files []string
	err := filepath.WalkDir(image, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, strings.TrimPrefix(path, image))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{bundle, "/leadsman"}, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func static(t *testing.T, binary string) {
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v, %v", libraries, err)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("it needs a loader")
	}
}

// serves enqueues a job on a volume, and serves it with the configuration on another that is read-only.
func serves(t *testing.T, image string) {
	config, data := folder(t, 0o755), folder(t, 0o777)
	grpc, http := storagetest.FreeAddress(t), storagetest.FreeAddress(t)
	put(t, filepath.Join(config, "leadsman.yaml"), fmt.Appendf(nil,
		"grpc: {listen: %q}\nhttp: {listen: %q}\nsources:\n  mail: {url: \"sqlite:/data/leadsman.db\"}\n", grpc, http))
	c := &container{image: image, volumes: map[string]string{"/etc/leadsman": config, "/data": "!" + data}}
	c.env = []string{"LEADSMAN_URL=sqlite:/data/leadsman.db"}
	if out, code := run(t, c, "enqueue", "mail", "--count", "3", "--migrate"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	c.env = nil
	cmd := c.command(t, "serve", "--config", "/etc/leadsman/leadsman.yaml")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	body := waitFor(t, "http://"+http+"/api/scaler/mail/mail", `"metricValue":3,`)
	healthy(t, grpc)
	confined(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v after %s:\n%s", err, body, &output)
	}
}

// confined looks at a process from outside: who it is, what it may do, and that its root is read-only.
func confined(t *testing.T, pid int) {
	t.Helper()
	status := read(t, fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range []string{`(?m)^CapEff:\t0{16}$`, `(?m)^CapPrm:\t0{16}$`, `(?m)^NoNewPrivs:\t1$`} {
		if !regexp.MustCompile(line).MatchString(status) {
			t.Errorf("no %s in\n%s", line, status)
		}
	}
	if os.Geteuid() == 0 && !regexp.MustCompile(fmt.Sprintf(`(?m)^Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d$`, nobody)).MatchString(status) {
		t.Errorf("it is not %d:\n%s", nobody, status)
	}
	mounts := read(t, fmt.Sprintf("/proc/%d/mountinfo", pid))
	for mount, options := range map[string]string{"/": "ro,nosuid,nodev", "/etc/leadsman": "ro,nosuid,nodev", "/data": "rw,nosuid,nodev"} {
		if !regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ ` + mount + ` ` + options).MatchString(mounts) {
			t.Errorf("%s is not %s:\n%s", mount, options, mounts)
		}
	}
}

// trusts looks into a server whose certificate is among those of the image, and into one whose is not.
func trusts(t *testing.T, image string, trusted, key []byte) {
	stranger, strangersKey := certificate(t)
	for _, server := range []struct {
		certificate, key []byte
		code             int
		says             string
	}{
		{trusted, key, 0, "mail"},
		{stranger, strangersKey, 1, "is of a CA that is not trusted here"},
	} {
		config, address := folder(t, 0o755), storagetest.FreeAddress(t)
		put(t, filepath.Join(config, "tls.crt"), server.certificate)
		put(t, filepath.Join(config, "tls.key"), server.key)
		put(t, filepath.Join(config, "leadsman.yaml"), fmt.Appendf(nil, "grpc: {listen: %q, tls: {certFile: tls.crt, keyFile: tls.key}}\n"+
			"http: {listen: \"off\"}\nsources:\n  mail: {url: \"sqlite:/data/none.db\"}\n", address))
		c := &container{image: image, volumes: map[string]string{"/etc/leadsman": config}}
		cmd := c.command(t, "serve", "--config", "/etc/leadsman/leadsman.yaml")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		answering(t, address)
		out, code := run(t, &container{image: image}, "inspect", "sources", "--tls", "--server-name", "leadsman", "--server", address)
		if code != server.code || !strings.Contains(out, server.says) {
			t.Errorf("exit code %d, want %d and %q: %s", code, server.code, server.says, out)
		}
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
