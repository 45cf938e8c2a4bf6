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

// build builds the cluster's programs, which are the tools of this module and of prometheus/, and returns their folder. What is up to
// date there is not built anew.
func build() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "..", "..", "bin", "e2e")
	for _, step := range []struct {
		module string
		args   []string // of go build
	}{
		{".", []string{"-ldflags", versionFlags(), "-o", folder + "/", "tool"}},
		// It is told what to scrape: nothing that discovers targets is built.
		{"prometheus", []string{"-tags", "remove_all_sd", "-o", folder + "/", "tool"}},
		// What is imported is downloaded, for which there is no network in the cluster.
		{kindsModule, []string{"."}},
	} {
		cmd := exec.Command("go", append([]string{"build"}, step.args...)...)
		cmd.Dir = filepath.Join(root, step.module)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("build what the cluster needs in %s: %w", cmd.Dir, err)
		}
	}
	return folder, nil
}

// versionFlags have the linker write the version into Kubernetes' programs.
func versionFlags() string {
	const version = "k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	return fmt.Sprintf("-X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s",
		version, kubernetesVersion, major, minor)
}

// moduleRoot is the folder of this module's go.mod: a test runs in its package's.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
