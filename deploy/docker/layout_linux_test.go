//go:build image

package docker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A layout is a folder that holds one image as the OCI's image layout has it: https://specs.opencontainers.org/image-spec.
type layout struct{ dir string }

// A blob is what a layout names by its digest.
type blob struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"` // bytes
}

// A manifest is what an image is made of.
type manifest struct {
	Config blob   `json:"config"`
	Layers []blob `json:"layers"`
}

// A configuration is what an image says of itself.
type configuration struct {
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Config       json.RawMessage `json:"config"`
}

// Settings are how an image is run. There are more than these, and an image of ours has none of them.
type settings struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	WorkingDir   string              `json:"WorkingDir"`
	Labels       map[string]string   `json:"Labels"`
}

// manifest reads the one that the layout has.
func (l *layout) manifest(t *testing.T) manifest {
	t.Helper()
	var index struct {
		Manifests []blob `json:"manifests"`
	}
	decode(t, []byte(read(t, filepath.Join(l.dir, "index.json"))), &index)
	if len(index.Manifests) != 1 {
		t.Fatalf("%d images, want one", len(index.Manifests))
	}
	var m manifest
	decode(t, l.read(t, index.Manifests[0]), &m)
	return m
}

// configuration reads what the image says of itself.
func (l *layout) configuration(t *testing.T) (platform string, s settings) {
	t.Helper()
	var c configuration
	decode(t, l.read(t, l.manifest(t).Config), &c)
	strict := json.NewDecoder(bytes.NewReader(c.Config))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&s); err != nil {
		t.Fatalf("%v: %s", err, c.Config)
	}
	return c.OS + "/" + c.Architecture, s
}

// read returns a blob, which is what its digest says.
func (l *layout) read(t *testing.T, b blob) []byte {
	t.Helper()
	algorithm, digest, _ := strings.Cut(b.Digest, ":")
	text := []byte(read(t, filepath.Join(l.dir, "blobs", algorithm, digest)))
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("%s is the digest of something else", b.Digest)
	}
	return text
}

// unpack makes a folder that is the image's root, and returns it with the headers of all that the layers hold.
func (l *layout) unpack(t *testing.T) (string, []*tar.Header) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var headers []*tar.Header
	for _, layer := range l.manifest(t).Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(l.read(t, layer)))
		if err != nil {
			t.Fatalf("%s: %v", layer.MediaType, err)
		}
		for archive := tar.NewReader(unzipped); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := unpackOne(to, header, archive); err != nil {
				t.Fatalf("%s: %v", header.Name, err)
			}
			headers = append(headers, header)
		}
	}
	return dir, headers
}

// unpackOne makes a file or a folder; an image of ours has nothing else, and no layer that takes away what another brought.
func unpackOne(to *os.Root, header *tar.Header, text io.Reader) error {
	name, mode := filepath.Clean(header.Name), header.FileInfo().Mode().Perm()
	switch {
	case strings.HasPrefix(filepath.Base(name), ".wh."):
		return errors.New("it stands for something that is removed")
	case header.Typeflag == tar.TypeDir:
		return to.MkdirAll(name, mode)
	case header.Typeflag != tar.TypeReg:
		return errors.New("it is neither a file nor a folder")
	}
	content, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	if err := to.WriteFile(name, content, mode); err != nil {
		return err
	}
	return to.Chmod(name, mode) // whatever the mask of this process
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
