package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// kindsModule is the folder of the module that requires operators for their kinds, from the root of this one.
const kindsModule = "kinds"

// An operatorModule is the module of an operator, which has the CustomResourceDefinitions that it installs.
type operatorModule struct {
	path     string
	required string   // folder of the module of ours that requires it, from the root of this one
	files    []string // patterns
}

// operators are KEDA, of which the cluster has all kinds, and those that do not run here, of which it has the kinds that we ship
// objects of.
func operators() []operatorModule {
	const monitoring = "example/prometheus-operator-crd/monitoring.coreos.com_"
	return []operatorModule{
		{"github.com/kedacore/keda/v2", ".", []string{"config/crd/bases/*.yaml"}},
		{"github.com/prometheus-operator/prometheus-operator", kindsModule, []string{
			monitoring + "servicemonitors.yaml", monitoring + "prometheusrules.yaml",
		}},
		{"github.com/cert-manager/cert-manager", kindsModule, []string{"deploy/crds/cert-manager.io_certificates.yaml"}},
	}
}

// createKinds gives the cluster kinds. It serves them some moments later.
func (c *Cluster) createKinds(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	for _, operator := range operators() {
		dir, err := moduleFolder(operator.path, filepath.Join(root, operator.required))
		if err != nil {
			return err
		}
		for _, pattern := range operator.files {
			kinds, err := readKinds(filepath.Join(dir, pattern))
			if err != nil {
				return err
			}
			if err := c.create(ctx, kinds...); err != nil {
				return err
			}
		}
	}
	return nil
}

// moduleFolder is the folder of a module that the one in requiring requires.
func moduleFolder(module, requiring string) (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir, cmd.Stderr = requiring, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// readKinds reads the CustomResourceDefinitions of files.
func readKinds(pattern string) ([]client.Object, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no %s: kinds.go says otherwise", pattern)
	}
	var kinds []client.Object
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, kind); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}
