package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// shipped are the manifests in deploy that a person applies as they are, by file.
func shipped(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, folder := range []string{"keda", "prometheus"} {
		files, err := filepath.Glob("../../deploy/" + folder + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("deploy/%s: %v, %v", folder, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[folder+"/"+filepath.Base(file)] = text
		}
	}
	return all
}

// manifestOf runs leadsman manifest on a spec.
func manifestOf(t *testing.T, spec string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "autoscale.yaml"), []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	return rig.Run(t, dir, "manifest", "-f", "autoscale.yaml")
}

// specs are what leadsman manifest is asked for: every mode with every metric that it takes, and what else there is.
func specs() map[string]string {
	const rest = "source: mail\nmax: 30\nnamespace: team-mail\n"
	all := map[string]string{}
	modes := map[string]string{
		"external": "tokenFrom: {env: LEADSMAN_TOKEN}\n", "external-push": "tokenFrom: {env: LEADSMAN_TOKEN}\n",
		"metrics-api":    "tokenFrom: {secret: leadsman-token}\n",
		"prometheus":     "prometheus: {url: \"http://prometheus.monitoring.svc:9090\"}\ntokenFrom: {secret: leadsman-token}\n",
		"prometheus-hpa": "tokenFrom: {secret: leadsman-token}\nprometheus: {labels: {release: prometheus}}\n",
	}
	metrics := map[string]string{
		"ready": "", "running": "min: 1\n", "outstanding": "target: 0.5\n", "scheduled": "target: 1e3\n",
		"oldest": "target: 60\nqueue: 'mail-*'\n", "utilization": "target: 0.8\nmin: 2\n",
	}
	for mode, more := range modes {
		for metric, with := range metrics {
			if metric == "utilization" && strings.HasPrefix(mode, "prometheus") {
				continue
			}
			all[mode+" "+metric] = rest + "worker: w\nmode: " + mode + "\nmetric: " + metric + "\n" + more + with
		}
		if mode != "prometheus-hpa" {
			all[mode+" with everything"] = rest + "mode: " + mode + "\n" + more +
				"worker: {name: w, kind: StatefulSet, apiVersion: apps/v1, container: main}\n" +
				"idle: 0\nmin: 2\ncpu: 70\nmemory: 80\ncron: [{timezone: Europe/Berlin, start: 0 8 * * 1-5, end: 0 18 * * 1-5, replicas: 3}]\n" +
				"fallback: {replicas: 4, after: 5}\npoll: 20s\ncooldown: 90\nstabilization: 0\nactivation: 3\n" +
				"queue: ['a*', 'on', \"it's \\\"b\\\"\", '1e3']\n"
		}
	}
	all["prometheus-hpa with everything"] = rest + "worker: w\nmode: prometheus-hpa\ncpu: 70\nmemory: 80\n" +
		"tls: {caSecret: c, clientSecret: d}\n" + modes["prometheus-hpa"]
	all["external-push with what streams alone know"] = rest + "worker: w\nlinger: 90s\nlookahead: 300\n" +
		"activeWhileRunning: false\n" + modes["external"]
	all["external-push with client certificates"] = rest + "worker: w\ntls: {caSecret: c, clientSecret: d}\n"
	for _, strategy := range []string{"default", "accurate", "eager"} {
		all["scaled-job "+strategy] = rest + "mode: scaled-job\nstrategy: " + strategy + `
min: 1
tokenFrom: {env: LEADSMAN_TOKEN}
worker:
  name: w
  job:
    backoffLimit: 1
    template: {spec: {restartPolicy: Never, containers: [{name: w, image: w, env: [{name: LEADSMAN_TOKEN, value: x}]}]}}
`
	}
	return all
}

// Everything that leadsman ships or makes is what Kubernetes' types and KEDA's own validation take, and each trigger one
// that KEDA makes a scaler of, which gets its answer from the server.
func TestManifestsAreWhatKubernetesAndKEDATake(t *testing.T) {
	t.Parallel()
	all := shipped(t)
	for name, spec := range specs() {
		all["leadsman manifest: "+name] = manifestOf(t, spec)
	}
	b := newBench(t)
	for name, text := range all {
		t.Run(name, func(t *testing.T) {
			checkSchema(t, name, text)
			objects := decodeObjects(t, name, text)
			auths := map[string]map[string]string{}
			for _, object := range objects {
				checkObject(t, object)
				if auth, ok := object.(*kedav1alpha1.TriggerAuthentication); ok {
					auths[auth.Name] = b.resolve(t, auth)
				}
			}
			for _, object := range objects {
				for i, shown := range triggersOf(object) {
					var auth map[string]string
					if shown.AuthenticationRef != nil {
						if auth = auths[shown.AuthenticationRef.Name]; auth == nil {
							t.Fatalf("trigger %d: no TriggerAuthentication %s in its file", i, shown.AuthenticationRef.Name)
						}
					}
					b.check(t, i, &shown, auth)
				}
			}
		})
	}
}

// checkObject calls what of KEDA's validation needs no cluster.
func checkObject(t *testing.T, object any) {
	t.Helper()
	var err error
	switch object := object.(type) {
	case *kedav1alpha1.ScaledObject:
		for _, check := range []func(*kedav1alpha1.ScaledObject) error{
			kedav1alpha1.CheckReplicaCountBoundsAreValid, kedav1alpha1.CheckFallbackValid,
		} {
			if err := check(object); err != nil {
				t.Error(err)
			}
		}
		err = kedav1alpha1.ValidateTriggers(object.Spec.Triggers)
		if object.Spec.Advanced.HorizontalPodAutoscalerConfig.Behavior.ScaleDown.StabilizationWindowSeconds == nil {
			t.Error("nothing is said of scaling down")
		}
	case *kedav1alpha1.ScaledJob:
		dryRun := true
		_, err = object.ValidateCreate(&dryRun)
		// Case 29.
		strategy, metric := object.Spec.ScalingStrategy.Strategy, object.Spec.Triggers[0].Metadata["metric"]
		if (strategy == "default") != (metric == "outstanding") || (strategy != "default") != (metric == "ready") {
			t.Errorf("strategy %s with metric %s", strategy, metric)
		}
	case *kedav1alpha1.TriggerAuthentication:
		dryRun := true
		_, err = object.ValidateCreate(&dryRun)
	case *autoscalingv2.HorizontalPodAutoscaler:
		if object.Spec.MinReplicas == nil || *object.Spec.MinReplicas < 1 || object.Spec.MaxReplicas < *object.Spec.MinReplicas {
			t.Errorf("replicas from %v to %d", object.Spec.MinReplicas, object.Spec.MaxReplicas)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// schemas are those of KEDA's resource definitions, by kind.
var schemas = sync.OnceValues(func() (map[string]validation.SchemaValidator, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases", "keda.sh_*.yaml"))
	if err != nil {
		return nil, err
	}
	all := map[string]validation.SchemaValidator{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, err
		}
		var schema apiextensions.JSONSchemaProps
		v1 := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &schema, nil)
		if err != nil {
			return nil, err
		}
		if all[crd.Spec.Names.Kind], _, err = validation.NewSchemaValidator(&schema); err != nil {
			return nil, err
		}
	}
	if len(all) < 3 {
		return nil, fmt.Errorf("only %d resource definitions in %s", len(all), dir)
	}
	return all, nil
})

// checkSchema holds objects of KEDA's against the schema by which the API server does: bounds, enumerations, what is
// required.
func checkSchema(t *testing.T, name string, text []byte) {
	t.Helper()
	known, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range betweenDocuments.Split(string(text), -1) {
		asJSON, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(asJSON, &object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kind, _ := object["kind"].(string)
		if validator := known[kind]; validator != nil {
			for _, fault := range validation.ValidateCustomResource(nil, object, validator) {
				t.Errorf("%s: the API server refuses it: %v", name, fault)
			}
		}
	}
}
