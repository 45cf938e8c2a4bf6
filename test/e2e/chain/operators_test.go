package chain

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// operatedValues have the chart make objects for operators: Prometheus' and cert-manager.
const operatedValues = `
sources: {mail: {url: "postgres://reader@db/app", preset: river}}
tokens: [{id: keda, sha256: 5f6b0d1d0f6f9c7b3f9d6a3c7e2b1a4d5c6e7f8091a2b3c4d5e6f708192a3b4c, scopes: [read]}]
grpc: {tls: {certManager: {enabled: true, issuerRef: {name: ca, kind: ClusterIssuer}}}}
serviceMonitor: {enabled: true, labels: {release: prometheus}, tokenSecret: {name: leadsman-scrape}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboard: {enabled: true}
`

// operatedChart is what the chart makes of operatedValues.
func operatedChart(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(operatedValues), 0o600); err != nil {
		t.Fatal(err)
	}
	chart := filepath.Join(rig.Root(t), "deploy", "helm", "leadsman")
	return objectsOf(helm(t, dir, "template", "leadsman", chart, "--values", "values.yaml", "--validate"))
}

// What is made for operators is what they have defined.
func TestApiserverTakesWhatIsMadeForOperators(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	plain := spec{"worker": "mailer", "namespace": namespace, "mode": "prometheus-hpa", "source": "mail", "max": 30}
	full := maps.Clone(plain)
	maps.Copy(full, spec{
		"metric": "oldest", "target": 60, "queue": "mail-*", "cpu": 70, "memory": 80, "tokenFrom": spec{"secret": "leadsman-scrape"},
		"prometheus": spec{"labels": spec{"release": "prometheus"}},
		"tls":        spec{"caSecret": "leadsman-ca", "clientSecret": "leadsman-client"},
	})
	for name, tc := range map[string]struct {
		objects []string
		kinds   []string
	}{
		"the chart":                         {operatedChart(t), []string{"ServiceMonitor", "PrometheusRule", "Certificate"}},
		"leadsman manifest":                 {objectsOf(manifestsOf(t, plain)), []string{"ServiceMonitor", "PrometheusRule"}},
		"leadsman manifest with everything": {objectsOf(manifestsOf(t, full)), []string{"ServiceMonitor", "PrometheusRule"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range tc.kinds {
				ofKind(t, tc.objects, kind)
			}
			for _, text := range tc.objects {
				if err := dryRun(t, namespace, text); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			}
		})
	}
}

// ofKind is the one object of a kind.
func ofKind(t *testing.T, objects []string, kind string) string {
	t.Helper()
	var found []string
	for _, text := range objects {
		if strings.Contains(text, "\nkind: "+kind+"\n") {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d of kind %s, want 1", len(found), kind)
	}
	return found[0]
}

// That objects are taken says something, for they are not with one word changed.
func TestApiserverRefusesWhatOperatorsHaveNotDefined(t *testing.T) {
	t.Parallel()
	namespace, objects := newNamespace(t), operatedChart(t)
	for name, tc := range map[string]struct {
		kind, right, wrong string
		refused            func(error) bool
	}{
		"no time":         {"ServiceMonitor", "interval: 15s", "interval: often", apierrors.IsInvalid},
		"no such key":     {"ServiceMonitor", "interval: 15s", "every: 15s", apierrors.IsBadRequest},
		"no time to wait": {"PrometheusRule", "for: 2m", "for: some time", apierrors.IsInvalid},
		"no such choice":  {"Certificate", "rotationPolicy: Always", "rotationPolicy: Sometimes", apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := ofKind(t, objects, tc.kind)
			changed := strings.Replace(text, tc.right, tc.wrong, 1)
			if changed == text {
				t.Fatalf("the %s does not say %q:\n%s", tc.kind, tc.right, text)
			}
			if err := dryRun(t, namespace, changed); !tc.refused(err) {
				t.Errorf("with %q: %v, want it refused", tc.wrong, err)
			} else {
				t.Log(err)
			}
		})
	}
}
