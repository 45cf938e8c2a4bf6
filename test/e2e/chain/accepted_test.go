package chain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// The apiserver takes every object that we ship, and that the documentation shows, with no field that it does not know.
func TestApiserverTakesWhatIsShippedAndShown(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	root := rig.Root(t)
	taken := 0
	for _, pattern := range []string{"deploy/keda/*.yaml", "deploy/prometheus/*.yaml", "docs/*.md", "README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			for _, text := range objectsIn(t, file) {
				if err := dryRun(t, namespace, text); err != nil {
					t.Errorf("%s: %v\n%s", file, err, text)
				}
				taken++
			}
		}
	}
	if taken < 20 {
		t.Errorf("%d objects were found, fewer than there are", taken)
	}
}

// dryRun has the apiserver do all with a new object that it does with one, but keep it. The object is of a namespace, and put into
// this one.
func dryRun(t *testing.T, namespace, text string) error {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		return err
	}
	object.SetNamespace(namespace)
	return kube.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
}

var (
	shownYAML = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	between   = regexp.MustCompile(`(?m)^---\n`)
)

// objectsIn are the objects of a file of YAML, or in a page of documentation.
func objectsIn(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) != ".md" {
		return objectsOf(string(text))
	}
	var objects []string
	for _, block := range shownYAML.FindAllStringSubmatch(string(text), -1) {
		objects = append(objects, objectsOf(block[1])...)
	}
	return objects
}

// objectsOf are the objects of a text of YAML: not comments alone, nor something else.
func objectsOf(text string) []string {
	var objects []string
	for _, object := range between.Split(text, -1) {
		if strings.Contains(object, "\nkind: ") {
			objects = append(objects, object)
		}
	}
	return objects
}
