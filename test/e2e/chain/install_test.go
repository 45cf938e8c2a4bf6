package chain

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// leadsmanNamespace is where our manifests install leadsman.
const leadsmanNamespace = "leadsman"

// What docs/install.md says is done to the letter, and then without Helm, in a namespace that admits no Pod with more rights than
// it needs. There are no nodes: Pods are created and wait.
func TestInstallationByTheGuide(t *testing.T) {
	t.Parallel()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: leadsmanNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	refusesPrivileges(t)
	readGuide(t).byHelm(t)

	folder := filepath.Join(rig.Root(t), "deploy", "kustomize", "base")
	kube.Kubectl(t, nil, "apply", "-k", folder)
	isInstalled(t, 2)
	kube.Kubectl(t, nil, "delete", "-k", folder)
	isUninstalled(t)
}

// A guide is docs/install.md in a folder where its commands run.
type guide struct {
	dir      string
	commands [][]string // in order, as words
}

var guideBlock = regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```")

func readGuide(t *testing.T) *guide {
	t.Helper()
	g := &guide{dir: t.TempDir()}
	if err := os.Symlink(filepath.Join(rig.Root(t), "deploy"), filepath.Join(g.dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(rig.Root(t), "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range guideBlock.FindAllStringSubmatch(string(text), -1) {
		switch {
		case block[1] == "sh":
			for line := range strings.Lines(block[2]) {
				g.commands = append(g.commands, strings.Fields(line))
			}
		case strings.HasPrefix(block[2], "# values.yaml\n"):
			if err := os.WriteFile(filepath.Join(g.dir, "values.yaml"), []byte(block[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return g
}

// byHelm runs the guide's commands, and then those for later.
func (g *guide) byHelm(t *testing.T) {
	ran := 0
	for _, words := range g.commands {
		switch words[0] {
		case "helm":
			helm(t, g.dir, words[1:]...)
			ran++
		case "kubectl":
			hasPort(t, words)
			ran++
		default:
			t.Errorf("nobody tests %q", words)
		}
	}
	if ran < 2 {
		t.Fatalf("the guide has %d commands", ran)
	}
	isInstalled(t, 2)
	url := &corev1.Secret{}
	get(t, "leadsman-sources", url)
	if !strings.HasPrefix(string(url.Data["mail-url"]), "postgres://") {
		t.Errorf("the Secret has %d keys, and no URL for mail", len(url.Data))
	}

	helm(t, g.dir, "upgrade", "leadsman", "deploy/helm/leadsman", "--namespace", leadsmanNamespace, "--reuse-values", "--set", "replicaCount=3")
	isInstalled(t, 3)
	if out := helm(t, g.dir, "list", "--namespace", leadsmanNamespace, "--output", "json"); !strings.Contains(out, `"revision":"2"`) {
		t.Errorf("helm list says %s", out)
	}
	helm(t, g.dir, "uninstall", "leadsman", "--namespace", leadsmanNamespace)
	isUninstalled(t)
}

// helm runs Helm, a tool of this repository, and returns what it writes to standard output.
func helm(t *testing.T, dir string, args ...string) string {
	t.Helper()
	root := rig.Root(t)
	path := exec.Command("go", "tool", "-n", "-modfile="+filepath.Join(root, "tools", "go.mod"), "helm")
	path.Dir, path.Stderr = root, t.Output()
	binary, err := path.Output()
	if err != nil {
		t.Fatalf("build Helm: %v", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(binary)), args...)
	cmd.Dir, cmd.Stderr = dir, t.Output()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig, "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// hasPort takes `kubectl -n NAMESPACE port-forward svc/NAME PORT` as far as it goes without nodes: there are this Service and port.
func hasPort(t *testing.T, words []string) {
	t.Helper()
	if len(words) != 6 || words[1] != "-n" || words[2] != leadsmanNamespace || words[3] != "port-forward" {
		t.Fatalf("nobody tests %q", words)
	}
	kube.Kubectl(t, nil, "get", "--namespace", leadsmanNamespace, words[4])
	s := &corev1.Service{}
	get(t, strings.TrimPrefix(words[4], "svc/"), s)
	if port := s.Spec.Ports[0]; port.TargetPort.String() != port.Name || words[5] != "8080" || port.Port != 8080 {
		t.Errorf("the Service has port %+v, want %s", port, words[5])
	}
}

// isInstalled waits until all that belongs to leadsman is there, and as many Pods.
func isInstalled(t *testing.T, replicas int) {
	t.Helper()
	for name, objects := range map[string][]client.Object{
		"leadsman": {
			&appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Service{}, &corev1.ServiceAccount{},
			&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
		},
		"leadsman-http": {&corev1.Service{}},
	} {
		for _, object := range objects {
			get(t, name, object)
		}
	}
	rig.Eventually(t, settled, "the Pods are admitted", func() bool { return pods(t) == replicas })
}

// isUninstalled waits until nothing of it is left.
func isUninstalled(t *testing.T) {
	t.Helper()
	rig.Eventually(t, settled, "nothing is left", func() bool {
		return pods(t) == 0 && kube.Kubectl(t, nil, "get", "--namespace", leadsmanNamespace, "--selector", labelled, "--output", "name",
			"deployment,service,serviceaccount,poddisruptionbudget,networkpolicy,secret") == ""
	})
}

const labelled = "app.kubernetes.io/name=leadsman"

func pods(t *testing.T) int {
	t.Helper()
	list := &corev1.PodList{}
	if err := kube.Client.List(t.Context(), list, client.InNamespace(leadsmanNamespace)); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func get(t *testing.T, name string, object client.Object) {
	t.Helper()
	key := types.NamespacedName{Namespace: leadsmanNamespace, Name: name}
	if err := kube.Client.Get(t.Context(), key, object); err != nil {
		t.Fatalf("%T: %v", object, err)
	}
}

// refusesPrivileges fails if the namespace takes a Pod that does not say how few rights it needs.
func refusesPrivileges(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: leadsmanNamespace, Name: "privileged"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}},
	}
	if err := kube.Client.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Fatalf("a Pod with all rights: %v, want it refused", err)
	}
}
