package manifest_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/internal/manifest"
)

// text is what specs become.
func text(t *testing.T, specs string) string {
	t.Helper()
	var out bytes.Buffer
	if err := manifest.WriteYAML(&out, generate(t, specs)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// document decodes the first of some documents.
func document(t *testing.T, documents string, into any) {
	t.Helper()
	first, _, _ := strings.Cut(documents, "\n---\n")
	if err := yaml.Unmarshal([]byte(first), into); err != nil {
		t.Fatal(err)
	}
}

// object is as much of one as these tests look at.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		MinReplicaCount, MaxReplicaCount, IdleReplicaCount, CooldownPeriod *int
		Fallback                                                           *struct{ Replicas, FailureThreshold int }
		ScaleTargetRef                                                     struct{ Kind, Name, EnvSourceContainerName string }
		Triggers                                                           []struct {
			Type, MetricType string
			Metadata         map[string]string
		}
		SecretTargetRef []struct{ Parameter, Name, Key string }
	}
}

func TestExampleIsASpec(t *testing.T) {
	specs, err := manifest.Parse(manifest.File{Name: "example", Data: []byte(manifest.Example)})
	if err != nil || len(specs) != 1 || specs[0].Worker.Name != "mailer" || specs[0].Memory != 80 {
		t.Errorf("specs %+v, %v", specs, err)
	}
}

func TestReferenceHasEveryKey(t *testing.T) {
	known := regexp.MustCompile(`known are (.*)`).FindStringSubmatch(parse(good + "zzzzzz: 1\n"))
	if known == nil {
		t.Fatal("a fault lists no keys")
	}
	words := regexp.MustCompile(`[A-Za-z]+`).FindAllString(manifest.Reference, -1)
	for key := range strings.SplitSeq(known[1], ", ") {
		if !slices.Contains(words, key) {
			t.Errorf("%s is not in the reference", key)
		}
	}
}

func TestScaledObjectOfTheShortestSpec(t *testing.T) {
	var got object
	document(t, text(t, good), &got)
	spec := got.Spec
	if got.Kind != "ScaledObject" || got.Metadata.Name != "mailer" || got.Metadata.Namespace != "default" ||
		spec.ScaleTargetRef.Kind != "Deployment" || *spec.MinReplicaCount != 0 || *spec.MaxReplicaCount != 30 ||
		*spec.CooldownPeriod != 300 || spec.Fallback.Replicas != 1 || spec.Fallback.FailureThreshold != 3 {
		t.Errorf("%+v", got)
	}
	trigger := spec.Triggers[0]
	if trigger.Type != "external-push" || trigger.Metadata["scalerAddress"] != "leadsman.leadsman.svc:50051" ||
		trigger.Metadata["metric"] != "outstanding" || trigger.Metadata["target"] != "10" {
		t.Errorf("%+v", trigger)
	}
	if _, there := trigger.Metadata["queue"]; there {
		t.Error("all queues need no key")
	}
}

func TestSettingsFollowFromMetricAndBounds(t *testing.T) {
	var always, oldest, idle object
	document(t, text(t, good+"min: 2\n"), &always)
	if always.Spec.CooldownPeriod != nil || always.Spec.Fallback.Replicas != 2 {
		t.Errorf("with min 2: %+v", always.Spec)
	}
	document(t, text(t, good+"metric: oldest\ntarget: 60\n"), &oldest)
	if oldest.Spec.Fallback == nil || oldest.Spec.Triggers[0].MetricType != "Value" {
		t.Errorf("by age: %+v", oldest.Spec)
	}
	document(t, text(t, good+"min: 3\nidle: 0\nfallback: {replicas: 5, after: 2}\n"), &idle)
	if *idle.Spec.IdleReplicaCount != 0 || *idle.Spec.MinReplicaCount != 3 || *idle.Spec.CooldownPeriod != 300 ||
		idle.Spec.Fallback.Replicas != 5 || idle.Spec.Fallback.FailureThreshold != 2 {
		t.Errorf("idle: %+v", idle.Spec)
	}
}

func TestTLSIsInATriggerAuthenticationOfTheNamespace(t *testing.T) {
	for _, tc := range []struct {
		spec string
		want []string
	}{
		{"tls: {caSecret: a}\n", []string{"caCert a ca.crt"}},
		{"tls: {clientSecret: b}\n", []string{"tlsClientCert b tls.crt", "tlsClientKey b tls.key"}},
		{"tls: {caSecret: a, clientSecret: b}\nmode: metrics-api\ntokenFrom: {secret: c}\n", []string{
			"token c token", "ca a ca.crt", "cert b tls.crt", "key b tls.key",
		}},
	} {
		var got object
		document(t, text(t, good+"namespace: team-mail\n"+tc.spec), &got)
		var have []string
		for _, from := range got.Spec.SecretTargetRef {
			have = append(have, from.Parameter+" "+from.Name+" "+from.Key)
		}
		if got.Kind != "TriggerAuthentication" || got.Metadata.Namespace != "team-mail" || !slices.Equal(have, tc.want) {
			t.Errorf("%s: %+v", tc.spec, got)
		}
	}
	if out := text(t, good+"tls: {}\n"); !strings.Contains(out, `enableTLS: "true"`) || strings.Contains(out, "TriggerAuthentication\n") {
		t.Errorf("what the system trusts:\n%s", out)
	}
}

// What leadsman and Prometheus serve to all is there once; what is a tenant's has the tenant's name.
func TestSharedObjectsAreWrittenOnceAndOthersForEachNamespace(t *testing.T) {
	const hpa = "mode: prometheus-hpa\n"
	out := text(t, good+hpa+"namespace: team-a\n---\n"+good+hpa+"namespace: team-b\n")
	for word, times := range map[string]int{
		"kind: ServiceMonitor": 1, "kind: ConfigMap": 1, "kind: PrometheusRule": 2, "kind: HorizontalPodAutoscaler": 2,
		"name: leadsman.team-a.mailer\n  namespace: leadsman": 1, "name: leadsman.team-b.mailer\n  namespace: leadsman": 1,
		"scaled_namespace: team-a": 1, "scaled_namespace: team-b": 1,
	} {
		if n := strings.Count(out, word); n != times {
			t.Errorf("%q is there %d times, want %d", word, n, times)
		}
	}
}

func TestJSONIsTheSameWithoutComments(t *testing.T) {
	objects := generate(t, good+"tls: {clientSecret: b}\n")
	var asJSON, one bytes.Buffer
	if err := manifest.WriteJSON(&asJSON, objects); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Kind  string
		Items []json.RawMessage
	}
	if err := json.Unmarshal(asJSON.Bytes(), &list); err != nil || list.Kind != "List" || len(list.Items) != 2 {
		t.Fatalf("%v:\n%s", err, &asJSON)
	}
	for i, document := range strings.Split(text(t, good+"tls: {clientSecret: b}\n"), "\n---\n") {
		want, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Compact(&got, list.Items[i]); err != nil || got.String() != string(want) {
			t.Errorf("item %d, %v:\n%s\nwant\n%s", i, err, &got, want)
		}
	}
	if err := manifest.WriteJSON(&one, objects[1:]); err != nil || !strings.Contains(one.String(), "\n  \"kind\": \"ScaledObject\"") {
		t.Errorf("one object, %v:\n%s", err, &one)
	}
}

// A note whose path is misspelled would never be seen.
func TestEveryNoteIsWritten(t *testing.T) {
	written, unwritten := map[string]bool{}, map[string]string{}
	for _, spec := range matrix() {
		for _, o := range generate(t, spec) {
			var out bytes.Buffer
			if err := manifest.WriteYAML(&out, []manifest.Object{o}); err != nil {
				t.Fatal(err)
			}
			for path, note := range o.Notes {
				if strings.Contains(out.String(), "# "+note[:min(len(note), 40)]) {
					written[path] = true
				} else {
					unwritten[path] = note
				}
			}
		}
	}
	for path, note := range unwritten {
		if !written[path] {
			t.Errorf("nothing is at %s, to say %q of it", path, note)
		}
	}
	if len(written) < 12 {
		t.Errorf("only %d notes", len(written))
	}
}

// matrix are specs of all modes with all that each may have.
func matrix() []string {
	return []string{
		good, good + "mode: external\nmin: 1\n", good + "min: 2\nidle: 0\n", good + "metric: oldest\ntarget: 60\n",
		good + "cpu: 70\nmemory: 80\ntokenFrom: {env: T}\ntls: {caSecret: a, clientSecret: b}\n",
		good + "mode: metrics-api\ntokenFrom: {secret: a}\nactivation: 3\n",
		good + "mode: prometheus\nprometheus: {url: http://p}\ntokenFrom: {secret: a}\n",
		good + "mode: prometheus-hpa\ncpu: 70\ntokenFrom: {secret: a}\ntls: {caSecret: a, clientSecret: b}\nprometheus: {labels: {release: p}}\n",
		good + "mode: prometheus-hpa\nmetric: oldest\ntarget: 60\n",
		goodJob, goodJob + "strategy: accurate\ntokenFrom: {env: TOKEN}\n", goodJob + "strategy: eager\n",
	}
}

// A Job is copied as it was written; what its anchors mean is written out, since they mean nothing elsewhere.
func TestJobIsCopied(t *testing.T) {
	spec := strings.Replace(goodJob, "containers: [{name: a, image: b,", "containers: [&c {name: on, image: 'yes', args: [\"0123\", 1e3],", 1)
	out := text(t, strings.Replace(spec, "{name: TOKEN, value: x}]}]", "{name: TOKEN, value: x}]}]\n        initContainers: [*c]", 1))
	var got struct {
		Spec struct {
			JobTargetRef struct {
				Template struct {
					Spec struct {
						Containers, InitContainers []struct {
							Name  any
							Image any
							Args  []any
						}
					}
				}
			}
		}
	}
	document(t, out, &got)
	pod := got.Spec.JobTargetRef.Template.Spec
	for _, c := range append(pod.Containers, pod.InitContainers...) {
		if c.Image != "yes" || c.Args[0] != "0123" || len(pod.InitContainers) != 1 {
			t.Errorf("%+v", pod)
		}
	}
}
