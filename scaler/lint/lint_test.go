package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/storage/driver"
)

// scaledObject and the others are manifests with which nothing is wrong; tests change one line at a time.
const (
	scaledObject = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: mailer, namespace: team-mail, annotations: {}}
spec:
  scaleTargetRef: {name: mailer}
  minReplicaCount: 0
  maxReplicaCount: 30
  fallback: {failureThreshold: 3, replicas: 2}
  triggers:
    - type: external-push
      metricType: AverageValue
      metadata: {scalerAddress: "leadsman:50051", source: mail, queue: mail-out, metric: outstanding, target: "5"}
`
	scaledJob = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: encoder, namespace: team-video}
spec:
  jobTargetRef: {template: {}}
  pollingInterval: 5
  scalingStrategy: {strategy: accurate}
  rollout: {strategy: gradual}
  triggers:
    - type: external
      metadata: {scalerAddress: "leadsman:50051", queue: video, metric: ready, target: "1"}
`
	hpa = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: reporter, namespace: team-mail}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: reporter}
  minReplicas: 1
  maxReplicas: 5
  metrics:
    - type: External
      external: {metric: {name: leadsman_queue_jobs, selector: {matchLabels: {source: mail, state: ready}}}, target: {type: AverageValue, averageValue: "5"}}
`
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: mailer, namespace: team-mail}
spec: {template: {spec: {terminationGracePeriodSeconds: 600, containers: [{name: worker}]}}}
`
)

// linted feeds manifests to a linter, each as a document of one file, and returns its findings.
func linted(t *testing.T, linter *lint.Linter, manifests ...string) []lint.Finding {
	t.Helper()
	linter.Add("app.yaml", []byte(strings.Join(manifests, "\n---\n")))
	return linter.Findings()
}

// but changes a manifest, which must have what is replaced.
func but(t *testing.T, manifest, old, instead string) string {
	t.Helper()
	if strings.Count(manifest, old) != 1 {
		t.Fatalf("%q is not once in\n%s", old, manifest)
	}
	return strings.Replace(manifest, old, instead, 1)
}

// same holds findings against "level key" lines.
func same(t *testing.T, got []lint.Finding, want ...string) {
	t.Helper()
	var lines []string
	for _, f := range got {
		lines = append(lines, fmt.Sprintf("%s %s", f.Level, f.Key))
		if f.Found == "" || f.Level != driver.LevelOK && f.Remedy == "" && f.Level != driver.LevelNote {
			t.Errorf("%+v says too little", f)
		}
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q\n%+v", lines, want, got)
	}
}

func TestGoodManifestsAreSaidToBeGood(t *testing.T) {
	t.Parallel()
	got := linted(t, &lint.Linter{}, scaledObject, scaledJob, hpa, deployment)
	same(t, got, "ok ", "ok ", "ok ")
	if got[1].Object != "ScaledJob team-video/encoder" || got[1].File != "app.yaml" || got[1].Document != 2 {
		t.Errorf("the place is wrong: %+v", got[1])
	}
}

func TestScaledObjectMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, instead string
		want         []string
	}{
		// What the server would refuse, by the parser of the server itself.
		{`target: "5"`, `targt: "5"`, []string{"fail spec.triggers[0].metadata.targt"}},
		{`target: "5"`, `target: "0"`, []string{"fail spec.triggers[0].metadata.target"}},
		{`queue: mail-out`, `queue: " "`, []string{"fail spec.triggers[0].metadata.queue"}},
		{`source: mail`, `host: db`, []string{"fail spec.triggers[0].metadata.host"}},
		{`metric: outstanding`, `metric: pending`, []string{"fail spec.triggers[0].metadata.metric"}},
		// What only the workload's environment knows is no mistake.
		{`target: "5"`, `targetFromEnv: TARGET`, []string{"ok "}},
		{`source: mail`, `sourceFromEnv: SOURCE`, []string{"ok "}},
		{`target: "5"`, `targtFromEnv: TARGET`, []string{"fail spec.triggers[0].metadata.targtFromEnv"}},
		// What the API server would refuse.
		{`target: "5"`, `target: 5`, []string{"fail spec.triggers[0].metadata.target"}},
		{`target: "5"`, `queueX: [a]`, []string{"fail spec.triggers[0].metadata.queueX", "fail spec.triggers[0].metadata.queueX"}},
		{`minReplicaCount: 0`, `minReplicaCount: "0"`, []string{"fail spec.minReplicaCount"}},
		{`minReplicaCount: 0`, `minReplicas: 0`, []string{"fail spec.minReplicas"}},
		{`failureThreshold: 3`, `threshold: 3`, []string{"fail spec.fallback.threshold"}},
		{`metricType: AverageValue`, `metrictype: AverageValue`, []string{"fail spec.triggers[0].metrictype"}},
		{`scaleTargetRef: {name: mailer}`, `scaleTargetRef: {kind: Deployment}`, []string{"fail spec.scaleTargetRef.name"}},
		{`type: external-push`, `type: external-pull`, []string{"fail spec.triggers[0].type", "note spec.triggers"}},
		{`type: external-push`, `type: rabbitmq`, []string{"note spec.triggers"}},
		{`scalerAddress: "leadsman:50051"`, `scalerAddress: "http://leadsman:50051"`, []string{"fail spec.triggers[0].metadata.scalerAddress"}},
		{`scalerAddress: "leadsman:50051"`, `scalerAddress: leadsman`, []string{"fail spec.triggers[0].metadata.scalerAddress"}},
		{`scalerAddress: "leadsman:50051", `, ``, []string{"fail spec.triggers[0].metadata.scalerAddress"}},
		// metricType against metric.
		{`metric: outstanding`, `metric: oldest`, []string{"fail spec.triggers[0].metricType"}},
		{`metric: outstanding`, `metric: utilization`, []string{"fail spec.triggers[0].metricType"}},
		{`metricType: AverageValue`, `metricType: Value`, []string{"fail spec.triggers[0].metricType"}},
		{`metricType: AverageValue`, `metricType: Utilization`, []string{"fail spec.triggers[0].metricType"}},
		{`metricType: AverageValue`, `metricType: Average`, []string{"fail spec.triggers[0].metricType"}},
		{`metric: outstanding`, `metric: ready`, []string{"warn spec.triggers[0].metadata.metric"}},
		// Sleeping and waking.
		{`type: external-push`, `type: external`, []string{"warn spec.triggers[0].type"}},
		{`minReplicaCount: 0`, `cooldownPeriod: 5`, []string{"warn spec.cooldownPeriod"}},
		{`minReplicaCount: 0`, `pollingInterval: 1`, []string{"note spec.pollingInterval"}},
		{`minReplicaCount: 0`, `minReplicaCount: 3`, []string{"note spec.minReplicaCount"}},
		{`metric: outstanding`, `activeWhileRunning: "false"`, []string{"warn spec.triggers[0].metadata.activeWhileRunning"}},
		// Bounds.
		{`minReplicaCount: 0`, `minReplicaCount: 31`, []string{"fail spec.minReplicaCount", "note spec.minReplicaCount"}},
		{`minReplicaCount: 0`, `idleReplicaCount: 0`, []string{"fail spec.idleReplicaCount"}},
		// The rest.
		{`  fallback: {failureThreshold: 3, replicas: 2}`, ``, []string{"warn spec.fallback"}},
		{`metricType: AverageValue`, `useCachedMetrics: true`, []string{"warn spec.triggers[0].useCachedMetrics"}},
		{`target: "5"`, `token: ldm_keda_hunter2`, []string{"warn spec.triggers[0].metadata.token"}},
		{`annotations: {}`, `annotations: {autoscaling.keda.sh/paused: "true"}`, []string{"warn metadata.annotations[autoscaling.keda.sh/paused]"}},
		{`annotations: {}`, `annotations: {autoscaling.keda.sh/paused: "false"}`, []string{"ok "}},
	} {
		t.Run(c.instead, func(t *testing.T) {
			t.Parallel()
			got := linted(t, &lint.Linter{}, but(t, scaledObject, c.old, c.instead))
			same(t, got, c.want...)
			if strings.Contains(fmt.Sprintf("%+v", got), "hunter2") {
				t.Errorf("the token shows: %+v", got)
			}
		})
	}
}

func TestIdleReplicasGoToZeroAndAreHeldToIt(t *testing.T) {
	t.Parallel()
	idle := but(t, scaledObject, "  minReplicaCount: 0\n", "  minReplicaCount: 3\n  idleReplicaCount: 0\n")
	same(t, linted(t, &lint.Linter{}, idle), "ok ")
	same(t, linted(t, &lint.Linter{}, but(t, idle, "external-push", "external")), "warn spec.triggers[0].type")
	same(t, linted(t, &lint.Linter{}, but(t, idle, "idleReplicaCount: 0", "idleReplicaCount: 1")), "warn spec.idleReplicaCount")
}

func TestScaledJobMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, instead string
		want         []string
	}{
		// Case 29.
		{`strategy: accurate`, `strategy: default`, []string{"fail spec.triggers[0].metadata.metric"}},
		{`strategy: accurate`, `pendingPodConditions: []`, []string{"fail spec.triggers[0].metadata.metric"}},
		{`strategy: accurate`, `strategy: eager`, []string{"ok "}},
		{`strategy: accurate`, `strategy: custom`, []string{"ok "}},
		{`strategy: accurate`, `strategy: precise`, []string{"fail spec.scalingStrategy.strategy"}},
		{`metric: ready`, `metric: outstanding`, []string{"fail spec.triggers[0].metadata.metric"}},
		{`metric: ready`, `metric: oldest`, []string{"fail spec.triggers[0].metadata.metric"}},
		{`metric: ready`, `metric: scheduled`, []string{"warn spec.triggers[0].metadata.metric"}},
		// Case 20.
		{`type: external`, `type: external-push`, []string{"warn spec.triggers[0].type"}},
		{`, target: "1"`, ``, []string{"warn spec.triggers[0].metadata.target"}},
		{`pollingInterval: 5`, `pollingInterval: 60`, []string{"note spec.pollingInterval"}},
		{`strategy: gradual`, `strategy: immediate`, []string{"warn spec.rollout.strategy"}},
		{`  rollout: {strategy: gradual}`, `  rolloutStrategy: gradual`, []string{"ok "}},
		{`  pollingInterval: 5`, `  cooldownPeriod: 5`, []string{"fail spec.cooldownPeriod", "note spec.pollingInterval"}},
		{`  jobTargetRef: {template: {}}`, ``, []string{"fail spec.jobTargetRef"}},
	} {
		t.Run(c.instead, func(t *testing.T) {
			t.Parallel()
			same(t, linted(t, &lint.Linter{}, but(t, scaledJob, c.old, c.instead)), c.want...)
		})
	}
}

func TestHPAMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, instead, want string }{
		{`type: AverageValue`, `type: Value`, "fail spec.metrics[0].external.target.type"},
		{`leadsman_queue_jobs, selector: {matchLabels: {source: mail, state: ready}}`, `leadsman_queue_oldest_seconds`, "fail spec.metrics[0].external.target.type"},
		{`minReplicas: 1`, `minReplicas: 0`, "warn spec.minReplicas"},
		{`minReplicas: 1`, `minReplicas: 9`, "fail spec.minReplicas"},
		{`  maxReplicas: 5`, ``, "fail spec.maxReplicas"},
	} {
		same(t, linted(t, &lint.Linter{}, but(t, hpa, c.old, c.instead)), c.want)
	}
}

func TestTwoAutoscalersOfOneWorkloadAreFound(t *testing.T) {
	t.Parallel()
	rival := but(t, but(t, hpa, "Deployment, name: reporter", "Deployment, name: mailer"), "name: reporter", "name: other")
	got := linted(t, &lint.Linter{}, scaledObject, rival)
	same(t, got, "fail spec.scaleTargetRef", "fail spec.scaleTargetRef")
	if !strings.Contains(got[0].Found, "HorizontalPodAutoscaler team-mail/other (app.yaml, document 2)") {
		t.Errorf("%q does not say which", got[0].Found)
	}
	second := but(t, scaledObject, "{name: mailer, namespace", "{name: mailer-2, namespace")
	same(t, linted(t, &lint.Linter{}, scaledObject, second), "fail spec.scaleTargetRef", "fail spec.scaleTargetRef")

	elsewhere := but(t, rival, "namespace: team-mail", "namespace: other")
	same(t, linted(t, &lint.Linter{}, scaledObject, elsewhere), "ok ", "ok ")
	another := but(t, rival, "kind: Deployment", "kind: StatefulSet")
	same(t, linted(t, &lint.Linter{}, scaledObject, another), "ok ", "ok ")
	same(t, linted(t, &lint.Linter{}, scaledObject, scaledObject), "ok ", "ok ") // given twice
}

// What KEDA makes of a ScaledObject comes along when a cluster's objects are linted.
func TestTheHPAThatKEDAMadeIsNoRival(t *testing.T) {
	t.Parallel()
	kedas := but(t, but(t, hpa, "Deployment, name: reporter", "Deployment, name: mailer"), "namespace: team-mail}",
		"namespace: team-mail, ownerReferences: [{kind: ScaledObject}]}")
	same(t, linted(t, &lint.Linter{}, scaledObject, kedas), "ok ")

	taken := but(t, scaledObject, "annotations: {}", `annotations: {scaledobject.keda.sh/transfer-hpa-ownership: "true"}`)
	taken = but(t, taken, "  fallback", "  advanced: {horizontalPodAutoscalerConfig: {name: reporter}}\n  fallback")
	same(t, linted(t, &lint.Linter{}, taken, but(t, hpa, "Deployment, name: reporter", "Deployment, name: mailer")), "ok ", "ok ")
}

func TestTheWorkloadAmongTheDocumentsIsLookedAt(t *testing.T) {
	t.Parallel()
	for old, c := range map[string]struct{ instead, want string }{
		"terminationGracePeriodSeconds: 600, ": {"", "warn spec.scaleTargetRef"},
		"terminationGracePeriodSeconds: 600":   {"terminationGracePeriodSeconds: 5", "warn spec.scaleTargetRef"},
		"spec: {template":                      {"spec: {replicas: 2, template", "note spec.scaleTargetRef"},
		"namespace: team-mail":                 {"namespace: other", "ok "},
		"kind: Deployment":                     {"kind: StatefulSet", "ok "},
	} {
		same(t, linted(t, &lint.Linter{}, scaledObject, but(t, deployment, old, c.instead)), c.want)
	}
}

func TestSourcesAreHeldAgainstThoseOfTheServer(t *testing.T) {
	t.Parallel()
	known := func() *lint.Linter {
		return &lint.Linter{Sources: []lint.Source{{Name: "mail", CountLimit: 100}, {Name: "video", NoLookahead: true}}}
	}
	same(t, linted(t, known(), scaledObject), "ok ")
	same(t, linted(t, known(), but(t, scaledObject, "source: mail", "source: mial")), "fail spec.triggers[0].metadata.source")
	same(t, linted(t, known(), but(t, scaledObject, "source: mail, ", "")), "fail spec.triggers[0].metadata.source")
	same(t, linted(t, known(), but(t, scaledObject, "source: mail", "source: video, lookahead: 5m")), "fail spec.triggers[0].metadata.lookahead")
	same(t, linted(t, known(), but(t, scaledObject, `target: "5"`, `activation: "100"`)), "fail spec.triggers[0].metadata.activation")
}

func TestListsAreTakenApart(t *testing.T) {
	t.Parallel()
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(scaledObject), "\n", "\n  ") +
		"\n- " + strings.ReplaceAll(strings.TrimSpace(scaledJob), "\n", "\n  ")
	same(t, linted(t, &lint.Linter{}, list), "ok ", "ok ")
}

func TestWhatIsNoObjectIsAFinding(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `"text"`, `a: [`, `{"kind": "List", "items": [5]}`} {
		linter := &lint.Linter{}
		linter.Add("app.yaml", []byte("kind: Service\n---\n"+text))
		got := linter.Findings()
		if len(got) != 1 || got[0].Level != driver.LevelFail || got[0].Document != 2 || got[0].Line < 2 {
			t.Errorf("%s: got %+v", text, got)
		}
	}
	linter := &lint.Linter{}
	linter.Add("app.yaml", []byte("# nothing\n---\nkind: ConfigMap\n"))
	if !linter.Empty() {
		t.Error("nothing that scales is not empty")
	}
}

// A finding says where in the file its key is, or what should hold it.
func TestFindingsHaveTheirLines(t *testing.T) {
	t.Parallel()
	text := but(t, but(t, scaledObject, `target: "5"`, `target: "0"`), "  fallback: {failureThreshold: 3, replicas: 2}\n", "")
	stream := scaledObject + "---" + text
	lineOf := func(key string) int { return 1 + strings.Count(stream[:strings.LastIndex(stream, key)], "\n") }
	linter := &lint.Linter{}
	linter.Add("app.yaml", []byte(stream))
	got := linter.Findings()
	same(t, got, "ok ", "fail spec.triggers[0].metadata.target", "warn spec.fallback")
	if got[0].Line != 2 || got[1].Line != lineOf("metadata: {scaler") || got[2].Line != lineOf("spec:") {
		t.Errorf("lines %d, %d, %d", got[0].Line, got[1].Line, got[2].Line)
	}
}

// Whatever a file holds, lint answers.
func FuzzAddNeverPanics(f *testing.F) {
	for _, manifest := range []string{scaledObject, scaledJob, hpa, deployment} {
		f.Add([]byte(manifest))
	}
	f.Add([]byte(`{"kind":"ScaledObject","spec":{"triggers":[{"type":"external","metadata":{"queue":null,"a":{}}}]}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		linter := &lint.Linter{}
		linter.Add("fuzz", text)
		linter.Findings()
	})
}

// manifestOf is a ScaledObject with a prometheus and a metrics-api trigger, as JSON.
func manifestOf(query, location, address string) []byte {
	type m = map[string]any
	data, err := json.Marshal(m{"kind": "ScaledObject", "spec": m{"triggers": []m{
		{"type": "prometheus", "metadata": m{"query": query, "threshold": "1"}},
		{"type": "metrics-api", "metadata": m{"url": address, "valueLocation": location, "targetValue": "1", "format": "prometheus"}},
	}}})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return data
}

// What is shipped to be applied as it is has nothing to be warned of, and each object that scales is looked at.
func TestShippedManifestsAreGood(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../deploy/keda/*.yaml", "../../deploy/prometheus/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			linter := &lint.Linter{Sources: []lint.Source{{Name: "mail"}, {Name: "video"}}, HTTP: &lint.HTTP{Locked: true}}
			linter.Add(file, text)
			for _, f := range linter.Findings() {
				if f.Level == driver.LevelWarn || f.Level == driver.LevelFail || strings.Contains(f.Found, "none asks leadsman") {
					t.Errorf("%+v", f)
				}
			}
		}
	}
}
