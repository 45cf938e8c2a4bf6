package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

const chart = "../../deploy/helm/leadsman"

// aToken is values with which the chart makes something.
const aToken = `
sources:
  mail: {url: "postgres://reader:hunter2@db/app", preset: river}
tokens:
  - {id: keda, sha256: 5f6b0d1d0f6f9c7b3f9d6a3c7e2b1a4d5c6e7f8091a2b3c4d5e6f708192a3b4c, scopes: [read]}
`

// helm runs Helm, which is a tool of this repository.
func helm(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "-modfile=../../tools/go.mod", "helm"}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// render renders the chart with values, and decodes what comes out.
func render(t *testing.T, values string) []any {
	t.Helper()
	out, err := template(t, values)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return decodeObjects(t, "the chart", []byte(out))
}

func template(t *testing.T, values string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return helm(t, "template", "test", chart, "--namespace", "leadsman", "--kube-version", "1.33.0", "--values", file)
}

func TestChartRendersValidObjects(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{
		"defaults": "",
		"TLS by a secret and client certificates": `
grpc: {tls: {existingSecret: leadsman-tls, requireClientCertificate: true}}
clients: [{san: keda-operator, scopes: [read]}]`,
		"TLS by cert-manager":   "grpc: {tls: {certManager: {enabled: true, issuerRef: {name: ca, kind: ClusterIssuer}}}}",
		"monitoring":            "serviceMonitor: {enabled: true, tokenSecret: {name: scrape}}\nprometheusRule: {enabled: true}\ndashboard: {enabled: true}",
		"a secret of one's own": "existingSecret: mine",
		"nothing optional":      "networkPolicy: {enabled: false}\npodDisruptionBudget: {enabled: false}\nserviceAccount: {create: false}\ntopologySpread: false",
		"egress and more peers": `
networkPolicy:
  egress: [{ports: [{port: 5432}]}]
  extraFrom: [{podSelector: {matchLabels: {app: batch}}}]`,
		"everything about pods": `
replicaCount: 3
image: {digest: "sha256:5f6b0d1d0f6f9c7b3f9d6a3c7e2b1a4d5c6e7f8091a2b3c4d5e6f708192a3b4c"}
imagePullSecrets: [{name: pull}]
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {e: f}
tolerations: [{key: g, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
extraEnv: [{name: GOMEMLIMIT, value: 400MiB}]
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, object := range render(t, aToken+values) {
				if d, ok := object.(*appsv1.Deployment); ok {
					checkPod(t, &d.Spec.Template.Spec)
				}
			}
		})
	}
}

// checkPod holds a pod against what the strictest policy of a cluster asks for.
func checkPod(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	c := pod.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || *c.SecurityContext.AllowPrivilegeEscalation || !*c.SecurityContext.ReadOnlyRootFilesystem ||
		!slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) || *pod.AutomountServiceAccountToken ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod may more than it needs: %+v, %+v", pod.SecurityContext, c.SecurityContext)
	}
	if c.LivenessProbe.HTTPGet.Path != "/health" || c.ReadinessProbe.HTTPGet.Path != "/readiness" || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("probes or resources are missing: %+v", c)
	}
}

func TestChartKeepsServingWhilePodsAreReplaced(t *testing.T) {
	t.Parallel()
	objects := render(t, aToken)
	d := only[*appsv1.Deployment](t, objects)
	if *d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("replicas = %d, maxUnavailable = %s", *d.Spec.Replicas, d.Spec.Strategy.RollingUpdate.MaxUnavailable)
	}
	if pdb := only[*policyv1.PodDisruptionBudget](t, objects); pdb.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("the disruption budget lets %s pods go", pdb.Spec.MaxUnavailable)
	}
	headless := 0
	for _, object := range objects {
		if s, ok := object.(*corev1.Service); ok && s.Spec.ClusterIP == corev1.ClusterIPNone && s.Spec.PublishNotReadyAddresses {
			headless++
		}
	}
	if headless != 1 {
		t.Errorf("%d headless Services, want the one of gRPC", headless)
	}
}

func TestChartLetsInKEDAAndPrometheusOnly(t *testing.T) {
	t.Parallel()
	policy := only[*networkingv1.NetworkPolicy](t, render(t, aToken))
	for _, rule := range policy.Spec.Ingress {
		for _, peer := range rule.From {
			namespace := peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
			if namespace != "keda" && namespace != "monitoring" {
				t.Errorf("%+v may come in", peer)
			}
		}
		if len(rule.From) == 0 || len(rule.Ports) == 0 {
			t.Errorf("a rule lets in everybody: %+v", rule)
		}
	}
}

// The chart's own configuration is what the server reads.
func TestServerTakesTheChartsConfiguration(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	objects := render(t, strings.Replace(aToken, "postgres://reader:hunter2@db/app", a.URL, 1))
	secret := only[*corev1.Secret](t, objects)
	if secret.StringData["mail-url"] != a.URL {
		t.Fatalf("the Secret holds %q", secret.StringData)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mail-url"), []byte(a.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	config := chartConfig(t, objects)
	if strings.Contains(config, a.URL) {
		t.Error("the ConfigMap holds the URL")
	}
	s := rig.NewServer(t)
	config = strings.NewReplacer("/etc/leadsman/sources", dir, "0.0.0.0:50051", s.GRPC, "0.0.0.0:8080", storagetest.FreeAddress(t)).Replace(config)
	s.Configure(config)
	s.Start()
}

func chartConfig(t *testing.T, objects []any) string {
	t.Helper()
	for _, object := range objects {
		if c, ok := object.(*corev1.ConfigMap); ok && c.Data["leadsman.yaml"] != "" {
			return c.Data["leadsman.yaml"]
		}
	}
	t.Fatal("no ConfigMap holds leadsman.yaml")
	return ""
}

func TestChartRefusesValuesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"no source":            {"tokens: [{id: a, sha256: " + strings.Repeat("5f", 32) + "}]", "nothing would be read"},
		"nobody could ask":     {`sources: {mail: {url: "postgres://h/d"}}`, "nobody could ask"},
		"a URL is missing":     {aToken + "\n  - {id: b, sha256: " + strings.Repeat("5f", 32) + "}\nsources: {mail: {preset: river}}", "mail"},
		"a key is mistyped":    {aToken + "\nreplicas: 3", "replicas"},
		"a source's key":       {"allowInsecure: true\nsources: {mail: {url: x, prest: river}}", "prest"},
		"a sum is no SHA-256":  {"sources: {mail: {url: x}}\ntokens: [{id: a, sha256: abc}]", "sha256"},
		"a name with capitals": {"allowInsecure: true\nsources: {Mail: {url: x}}", "Mail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := template(t, test.values)
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("got %v\n%s\nwant an error that says %q", err, out, test.want)
			}
		})
	}
}

func TestChartIsWellKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(aToken), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := helm(t, "lint", "--strict", chart, "--values", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The certificate is for the names by which KEDA is told to reach the server.
func TestChartsCertificateIsForItsService(t *testing.T) {
	t.Parallel()
	objects := render(t, aToken+"grpc: {tls: {certManager: {enabled: true, issuerRef: {name: ca}}}}")
	names, _, err := unstructured.NestedStringSlice(only[*unstructured.Unstructured](t, objects).Object, "spec", "dnsNames")
	if err != nil || !slices.Contains(names, "test-leadsman.leadsman.svc") {
		t.Errorf("dnsNames = %q, %v", names, err)
	}
}
