//go:build image

package docker

import (
	"archive/tar"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What TestTheImage finds in an image that it assembles holds for the one that an engine builds: here one does, by the
// Dockerfile as it is, and the same is asked of what comes out. `make test-image` runs it.
func TestAnEngineBuildsTheImage(t *testing.T) {
	trusted, key := certificate(t)
	engine := newBuildah(t, trusted)
	t.Run("from what the other tests copy", func(t *testing.T) { copies(t, engine) })
	t.Run("for this machine", func(t *testing.T) {
		source := sources(t)
		built := engine.image(t, runtime.GOARCH)
		configured(t, built, runtime.GOARCH)
		small(t, built)
		image, headers := built.unpack(t)
		owned(t, headers)
		t.Run("as the other tests assemble it", func(t *testing.T) {
			assembled := build(t, trusted)
			if !maps.Equal(source, sources(t)) {
				t.Skip("somebody changed the source meanwhile")
			}
			if diff := cmp.Diff(sums(t, assembled), sums(t, image)); diff != "" {
				t.Errorf("(-assembled +built):\n%s", diff)
			}
		})
		looks(t, image, trusted, key)
	})
	t.Run("for another architecture", func(t *testing.T) {
		architecture, machine := "arm64", elf.EM_AARCH64
		if runtime.GOARCH == architecture {
			architecture, machine = "amd64", elf.EM_X86_64
		}
		built := engine.image(t, architecture)
		configured(t, built, architecture)
		small(t, built)
		image, headers := built.unpack(t)
		owned(t, headers)
		holds(t, image)
		binary := filepath.Join(image, "leadsman")
		static(t, binary)
		file, err := elf.Open(binary)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Machine != machine {
			t.Errorf("the binary of %s is for %s", architecture, file.Machine)
		}
	})
}

// copies holds what an engine makes of .dockerignore against buildContext, which TestTheImage builds from.
func copies(t *testing.T, engine *buildah) {
	image, headers := engine.layout(t, engine.file(t, "FROM scratch\nCOPY . /\n")).unpack(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(sources(t))), slices.Sorted(maps.Keys(sums(t, image)))); diff != "" {
		t.Errorf("(-copied +sent to the engine):\n%s", diff)
	}
	var size int64
	for _, header := range headers {
		size += header.Size
	}
	t.Logf("%d files and folders, %d KiB", len(headers), size>>10)
	if size > 8<<20 {
		t.Error("that is more than source code")
	}
}

// configured looks at how the image is to be run: as the chart has it, and nothing else.
func configured(t *testing.T, built *layout, architecture string) {
	t.Helper()
	platform, got := built.configuration(t)
	if platform != "linux/"+architecture {
		t.Errorf("the image is for %s", platform)
	}
	maps.DeleteFunc(got.Labels, func(name, _ string) bool { return strings.HasPrefix(name, "io.buildah.") })
	want := settings{
		User:         fmt.Sprintf("%[1]d:%[1]d", nobody),
		ExposedPorts: map[string]struct{}{"50051/tcp": {}, "8080/tcp": {}},
		Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, // the engine's own
		Entrypoint:   []string{"/leadsman"},
		Cmd:          []string{"serve"},
		Labels:       map[string]string{},
	}
	if got.WorkingDir == "/" { // some say it, and some do not
		got.WorkingDir = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// small looks at what is pulled: a layer for each COPY at most, and the binary makes up the size.
func small(t *testing.T, built *layout) {
	t.Helper()
	_, image := stages(t)
	layers := built.manifest(t).Layers
	var size int64
	for _, layer := range layers {
		size += layer.Size
	}
	t.Logf("%d layers, %.1f MiB compressed", len(layers), float64(size)/(1<<20))
	if most := len(image.all("COPY")); len(layers) > most {
		t.Errorf("%d layers, want %d at most", len(layers), most)
	}
	if size > 32<<20 {
		t.Errorf("%d bytes are pulled: what was added to the binary?", size)
	}
}

// owned looks at whose the files are: nobody but root can change them, and none makes root of who runs it.
func owned(t *testing.T, headers []*tar.Header) {
	t.Helper()
	for _, header := range headers {
		mode := header.FileInfo().Mode()
		if header.Uid != 0 || header.Gid != 0 || mode.Perm()&0o022 != 0 || mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s is %d:%d %s", header.Name, header.Uid, header.Gid, mode)
		}
	}
}

// sources are the sums of what TestTheImage builds from.
func sources(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	buildContext(t, dir)
	return sums(t, dir)
}

// sums are the modes and digests of all files below a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(dir), path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		all[path] = fmt.Sprintf("%x", sha256.Sum256(text))
		if err == nil {
			all[path] = info.Mode().String() + " " + all[path]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
