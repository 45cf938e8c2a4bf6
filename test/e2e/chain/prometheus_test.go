package chain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A prometheus is Prometheus at work.
type prometheus struct {
	t   *testing.T
	url string
}

// scrape runs Prometheus at an address until the test ends. Each second it scrapes the replicas of a release, with a token as a
// ServiceMonitor has it, and evaluates files of rules. It is waited for until it has scraped all.
func scrape(t *testing.T, r *release, address, token string, rules ...string) *prometheus {
	t.Helper()
	targets := make([]string, len(r.replicas))
	for i, replica := range r.replicas {
		targets[i] = replica.HTTP
	}
	config, err := yaml.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": rules,
		"scrape_configs": []any{map[string]any{
			"job_name":       "leadsman",
			"authorization":  map[string]any{"credentials": token},
			"static_configs": []any{map[string]any{"targets": targets}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	rig.Start(t, kube.Command("prometheus", "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address, "--log.level", "warn"))
	p := &prometheus{t: t, url: "http://" + address}
	p.tells("sum(up)", float64(len(targets)))
	return p
}

// get asks the API. An error is that there is no answer.
func (p *prometheus) get(path string, data any) error {
	resp, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(&struct {
		Data any `json:"data"`
	}{data})
}

// tells waits until the answer to a query is one sample of a value.
func (p *prometheus) tells(query string, value float64) {
	p.t.Helper()
	path, want := "/api/v1/query?query="+url.QueryEscape(query), fmt.Sprint(value)
	rig.Eventually(p.t, settled, fmt.Sprintf("Prometheus says that %s is %s", query, want), func() bool {
		var got struct {
			Result []struct {
				Value [2]any `json:"value"` // time and value, which is a string
			} `json:"result"`
		}
		return p.get(path, &got) == nil && len(got.Result) == 1 && got.Result[0].Value[1] == want
	})
}

// begun is what an alert is from when there is reason for it; Prometheus says pending or firing, by how long there has been.
const begun = "begun"

// rules are what Prometheus says of each rule: of an alert, inactive or begun; and of what is recorded how its evaluation went.
func (p *prometheus) rules() map[string]string {
	p.t.Helper()
	var got struct {
		Groups []struct {
			Rules []struct {
				Name, Type, State, Health, LastError string
			}
		}
	}
	if err := p.get("/api/v1/rules", &got); err != nil {
		p.t.Fatal(err)
	}
	all := map[string]string{}
	for _, group := range got.Groups {
		for _, rule := range group.Rules {
			switch {
			case rule.Type == "recording" || rule.Health != "ok":
				all[rule.Name] = rule.Health
			case rule.State == "inactive":
				all[rule.Name] = rule.State
			default:
				all[rule.Name] = begun
			}
			if rule.LastError != "" {
				p.t.Errorf("%s: %s", rule.Name, rule.LastError)
			}
		}
	}
	return all
}

// become waits until Prometheus says something of each of its rules.
func (p *prometheus) become(want map[string]string) {
	p.t.Helper()
	diff := ""
	defer func() {
		if diff != "" {
			p.t.Logf("rules (-want +got):\n%s", diff)
		}
	}()
	rig.Eventually(p.t, settled, "the rules are as they should be", func() bool {
		diff = cmp.Diff(want, p.rules())
		return diff == ""
	})
}

// A worker follows its queue by way of Prometheus, too, and an outage of leadsman's is no empty queue there either.
func TestWorkerFollowsTheBacklogByWayOfPrometheus(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	app.Enqueue("mail", 1)
	app.Work("mail") // there is an empty queue from now on, and not none
	token := rig.NewToken(t, "prometheus", "--scope", "inspect")
	r := install(t, app.Source()+"http: {auth: token}\n"+rig.TokensConfig(token))
	p := scrape(t, r, storagetest.FreeAddress(t), token.Token)
	p.tells("sum(leadsman_queue_jobs)", 0)
	w := newWorker(t)
	w.scaled(r, spec{"mode": "prometheus", "target": 10, "prometheus": map[string]any{"url": p.url}})
	w.ready()
	w.becomes(0)
	app.Enqueue("mail", 1)
	w.becomes(1)
	app.Enqueue("mail", 34)
	w.becomes(4)

	seen := w.record()
	for _, replica := range r.replicas {
		replica.Stop()
	}
	rig.Eventually(t, settled, "KEDA gets no value", w.failing)
	w.stays(4, 5*time.Second) // KEDA's fallback comes after 3 polls
	for _, replica := range r.replicas {
		replica.Start()
	}
	rig.Eventually(t, settled, "KEDA gets a value", w.happy)
	seen.neverBelow(t, 4)
	app.Work("mail")
	w.becomes(0)
}

// Prometheus takes the rules that we ship, and an alert begins when there is reason for it, and not before.
func TestPrometheusEvaluatesTheShippedRules(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	app.Enqueue("mail-welcome", 3)
	token := rig.NewToken(t, "prometheus", "--scope", "inspect")
	const gone = "postgres://nobody@127.0.0.1:1/none"
	r := install(t, fmt.Sprintf("sources: {mail: {url: %q, preset: river}, gone: {url: %q, preset: river}}\n", app.URL, gone)+
		"http: {auth: token}\n"+rig.TokensConfig(token))
	p := scrape(t, r, storagetest.FreeAddress(t), token.Token, shippedRules(t)...)
	want := map[string]string{
		"leadsman:scaled_value": "ok", "source:leadsman_queue_jobs:max": "ok",
		"LeadsmanSourceDown": begun, "LeadsmanQueueStuck": "inactive", "LeadsmanDown": "inactive",
	}
	p.become(want)
	p.tells(`source:leadsman_queue_jobs:max{source="mail",state="ready"}`, 3)
	p.tells(`leadsman:scaled_value{scaled_namespace="team-mail",scaled_object="mailer"}`, 3)

	app.Schedule("mail-welcome", -time.Hour)
	want["LeadsmanQueueStuck"] = begun
	p.become(want)

	for _, replica := range r.replicas {
		replica.Stop()
	}
	want["LeadsmanSourceDown"], want["LeadsmanQueueStuck"], want["LeadsmanDown"] = "inactive", "inactive", begun
	p.become(want)
}

// shippedRules are files of the rules in deploy/prometheus, made of PrometheusRules as Prometheus' operator does.
func shippedRules(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"rules.yaml", "hpa.yaml"} {
		for _, text := range objectsIn(t, filepath.Join(rig.Root(t), "deploy", "prometheus", name)) {
			var object struct {
				Kind string
				Spec any
			}
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if object.Kind != "PrometheusRule" {
				continue
			}
			rules, err := yaml.Marshal(object.Spec)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, fmt.Sprintf("%d.yaml", len(files)))
			if err := os.WriteFile(file, rules, 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}
