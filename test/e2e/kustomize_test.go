package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kustomize builds a folder.
func kustomize(t *testing.T, folder string) []any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decodeObjects(t, folder, text)
}

// byName are objects as they are without what Helm alone writes into them, by kind and name.
func byName(t *testing.T, objects []any) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, object := range objects {
		meta, ok := object.(metav1.Object)
		if !ok {
			t.Fatalf("%T has no name", object)
		}
		labels := maps.Clone(meta.GetLabels())
		for _, helms := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
			delete(labels, helms)
		}
		if len(labels) == 0 {
			labels = nil
		}
		meta.SetLabels(labels)
		switch object := object.(type) {
		case *appsv1.Deployment:
			delete(object.Spec.Template.Annotations, "checksum/config")
			if len(object.Spec.Template.Annotations) == 0 {
				object.Spec.Template.Annotations = nil
			}
		case *corev1.ConfigMap:
			meta.SetLabels(nil)
			object.Data = decoded(t, object.Data)
		}
		kind := fmt.Sprintf("%T", object)
		all[kind+"/"+meta.GetName()] = object
	}
	return all
}

// decoded makes YAML in a ConfigMap comparable: without comments, and in one order.
func decoded(t *testing.T, data map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, text := range data {
		var tree any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := yaml.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(again)
	}
	return out
}

// Who has no Helm gets what the chart makes with its defaults.
func TestKustomizeBaseIsWhatTheChartMakes(t *testing.T) {
	t.Parallel()
	const values = `
sources: {mail: {preset: river}}
existingSecret: leadsman-sources
tokens: [{id: keda, sha256: 5f6b0d1d0f6f9c7b3f9d6a3c7e2b1a4d5c6e7f8091a2b3c4d5e6f708192a3b4c, scopes: [read]}]
`
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := helm(t, "template", "leadsman", chart, "--namespace", "leadsman", "--kube-version", "1.33.0", "--values", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := byName(t, decodeObjects(t, "the chart", []byte(out)))
	got := byName(t, kustomize(t, "../../deploy/kustomize/base"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deploy/kustomize/base (-chart +base):\n%s", diff)
	}
}

// An overlay brings its configuration and its Secret, and the pods see both.
func TestKustomizeOverlayBringsSourcesAndTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base, err := filepath.Abs("../../deploy/kustomize/base")
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(filepath.Join(base, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The overlay is the one in the base's own comment.
	var overlay bytes.Buffer
	for line := range strings.Lines(string(shown)) {
		if text, ok := strings.CutPrefix(line, "#   "); ok {
			overlay.WriteString(strings.Replace(text, "github.com/leadsman/leadsman//deploy/kustomize/base", relative, 1))
		}
	}
	for name, text := range map[string]string{
		"kustomization.yaml": overlay.String(), "mail-url": "postgres://reader@db/app", "leadsman.yaml": "sources: {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects := kustomize(t, dir)
	config, secret := only[*corev1.ConfigMap](t, objects), only[*corev1.Secret](t, objects)
	if config.Data["leadsman.yaml"] != "sources: {}\n" || string(secret.Data["mail-url"]) != "postgres://reader@db/app" {
		t.Errorf("the overlay's files became %v and %v", config.Data, secret.Data)
	}
	sources := only[*appsv1.Deployment](t, objects).Spec.Template.Spec.Volumes[0].Projected.Sources
	if sources[0].ConfigMap.Name != config.Name || sources[1].Secret.Name != secret.Name ||
		config.Namespace != "leadsman" || secret.Namespace != "leadsman" {
		t.Errorf("the pods mount %+v, and there are %s/%s and %s/%s", sources, config.Namespace, config.Name, secret.Namespace, secret.Name)
	}
}
