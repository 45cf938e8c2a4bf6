package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kubernetesVersion is that of k8s.io/kubernetes in go.mod. KEDA asks the apiserver for it and reads it.
const kubernetesVersion = "v1.36.3"

// build builds the tools of this module's go.mod, which are the cluster's programs, and returns their folder. What is up to date
// there is not built anew.
func build() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "..", "..", "bin", "e2e")
	const version = "k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	flags := fmt.Sprintf("-X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s",
		version, kubernetesVersion, major, minor)
	cmd := exec.Command("go", "build", "-ldflags", flags, "-o", folder+"/", "tool")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the cluster's programs: %w", err)
	}
	return folder, nil
}

// moduleRoot is the folder of this module's go.mod: a test runs in its package's.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
