package manifest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/internal/manifest"
)

var update = flag.Bool("update", false, "write the manifests in deploy anew")

// The manifests in deploy are what the specs beside them become. That Kubernetes and KEDA take them is tested in
// test/e2e.
func TestDeployedManifestsAreMadeOfTheirSpecs(t *testing.T) {
	for _, folder := range []string{"keda", "prometheus"} {
		specs, err := filepath.Glob(filepath.Join("..", "..", "deploy", folder, "specs", "*.yaml"))
		if err != nil || len(specs) == 0 {
			t.Fatalf("specs in deploy/%s: %v, %v", folder, specs, err)
		}
		for _, spec := range specs {
			t.Run(folder+"/"+filepath.Base(spec), func(t *testing.T) {
				golden(t, filepath.Join(filepath.Dir(filepath.Dir(spec)), filepath.Base(spec)), made(t, spec))
			})
		}
	}
}

// made is what the command prints of a spec. Its first comment is that of the file.
func made(t *testing.T, spec string) []byte {
	t.Helper()
	data, err := os.ReadFile(spec)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		out.WriteString(line)
	}
	out.WriteString("#\n# Made of specs/" + filepath.Base(spec) + " by leadsman manifest; change that.\n---\n")
	if err := manifest.WriteYAML(&out, generate(t, string(data))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-file +made; run the test with -update):\n%s", file, diff)
	}
}

// generate makes objects of specs without a fault.
func generate(t *testing.T, text string) []manifest.Object {
	t.Helper()
	specs, err := manifest.Parse(manifest.File{Name: "autoscale.yaml", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Generate(specs)
}
