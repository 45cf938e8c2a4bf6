package chain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// The apiserver takes every object that we ship, and that the documentation shows, with no field that it does not know; all but
// those of Prometheus' operator, whose kinds no cluster has without it.
func TestApiserverTakesWhatIsShippedAndShown(t *testing.T) {
	t.Parallel()
	namespace := namespaceOf(t)
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	root := rig.Root(t)
	taken := 0
	for _, pattern := range []string{"deploy/keda/*.yaml", "deploy/prometheus/*.yaml", "docs/*.md", "README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			for _, object := range objectsIn(t, file) {
				object = anyNamespace.ReplaceAllString(object, "${1}"+namespace)
				t.Logf("%s: %s", file, kube.Kubectl(t, strings.NewReader(object), "create", "--dry-run=server", "--validate=strict", "-f", "-"))
				taken++
			}
		}
	}
	if taken < 20 {
		t.Errorf("%d objects were found, fewer than there are", taken)
	}
}

var (
	anyNamespace = regexp.MustCompile(`(?m)(^ {2}namespace: |^metadata: .*namespace: )[\w-]+`)
	shownYAML    = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	between      = regexp.MustCompile(`(?m)^---\n`)
	foreign      = regexp.MustCompile(`(?m)^apiVersion: (monitoring\.coreos\.com|cert-manager\.io)/`)
)

// objectsIn are the objects of a file of YAML, or in a page of documentation.
func objectsIn(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := []string{string(text)}
	if filepath.Ext(file) == ".md" {
		blocks = nil
		for _, block := range shownYAML.FindAllStringSubmatch(string(text), -1) {
			blocks = append(blocks, block[1])
		}
	}
	var objects []string
	for _, block := range blocks {
		for _, object := range between.Split(block, -1) {
			if strings.Contains(object, "\nkind: ") && !foreign.MatchString(object) {
				objects = append(objects, object)
			}
		}
	}
	return objects
}
