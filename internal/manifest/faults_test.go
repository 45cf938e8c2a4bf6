package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/internal/manifest"
)

// Good is a spec that tests add to.
const good = "worker: mailer\nsource: mail\nmax: 30\n"

// goodJob is one of mode scaled-job.
const goodJob = "mode: scaled-job\nsource: mail\nmax: 30\nworker:\n  name: encoder\n  job:\n    template:\n      spec:\n" +
	"        restartPolicy: Never\n        containers: [{name: a, image: b, env: [{name: TOKEN, value: x}]}]\n"

// parse returns the faults of a text, one a line.
func parse(text string) string {
	_, err := manifest.Parse(manifest.File{Name: "a.yaml", Data: []byte(text)})
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "1: there is no spec; leadsman manifest --help shows one"},
		{"# nothing\n---\n", "1: there is no spec; leadsman manifest --help shows one"},
		{"- a\n", "1: must be a map, not a list"},
		{"a: [\n", "1: not YAML: did not find expected node content"},
		{good + "min: 1\nmin: 2\n", "5: min: is there twice; keep one of them"},
		{good + "qeue: a\n", `4: qeue: unknown key; did you mean "queue"?`},
		{good + "maxReplicaCount: 5\n", `4: maxReplicaCount: unknown key; did you mean "max"?`},
		{good + "\"a b\\n\": 5\n", `4: "a b\n": unknown key; known are mode, name,`},
		{good + "mode: push\n", `4: mode: "push" is not known; did you mean "external-push"?`},
		{good + "metric: redy\n", `4: metric: "redy" is not known; did you mean "ready"?`},
		{good + "queue:\n", "4: queue: is empty; give it a value, or remove the key"},
		{good + "queue: [a, ]\nname: \"\"\n", "5: name: is empty; give it a value, or remove the key"},
		{good + "queue: a,,b\n", "4: queue: holds an empty name, before, after or between commas; remove the key for all queues"},
		{good + "queue: 'a\\b'\n", `4: queue: "a\\b" holds a backslash before none of`},
		{good + "queue: \"a\\x06b\"\n", `4: queue: "a\x06b" holds a control character`},
		{good + "queue: {a: b}\n", "4: queue: must be a queue, or a list of queues, not a map"},
		{good + "queue: [[a]]\n", "4: queue: item 1 must be the name of a queue, or a glob such as mail-*"},
		{good + "target: 0\n", `4: target: "0" must be a decimal number from 0.001 to 9e+15`},
		{good + "target: 0x10\n", `4: target: "0x10" must be a decimal number`},
		{good + "target: .inf\n", `4: target: ".inf" must be a decimal number`},
		{good + "target: [1]\n", "4: target: must be one value, not a list"},
		{good + "activation: -1\n", `4: activation: "-1" must be a decimal number from 0`},
		{good + "activeWhileRunning: maybe\n", `4: activeWhileRunning: "maybe" is not known; known are true, false`},
		{good + "linger: 25h\n", `4: linger: "25h" must be a duration from 0s to 24h, such as 90s or 5m`},
		{good + "cooldown: 1500ms\n", `4: cooldown: "1500ms" must be whole seconds`},
		{good + "stabilization: 2h\n", `4: stabilization: "2h" must be a duration from 0s to 1h`},
		{good + "poll: 0\n", "4: poll: must be 1s or more"},
		{good + "min: 31\n", "4: min: 31 is greater than max, 30"},
		{good + "min: many\n", `4: min: "many" must be a whole number from 0 to 100000`},
		{good + "min: 1\ncooldown: 5m\n", "5: cooldown: is the wait before the last replica goes, and with min 1 that stays"},
		{good + "idle: 0\n", "4: idle: needs min of 1 or more"},
		{good + "idle: 1\nmin: 2\n", `4: idle: "1" must be a whole number from 0 to 0`},
		{good + "cpu: 0\n", `4: cpu: "0" must be a whole number from 1`},
		{good + "name: Mailer\n", `4: name: "Mailer" is no name: give at most 63 lower-case letters`},
		{good + "name: " + strings.Repeat("a", 64) + "\n", "4: name: \"" + strings.Repeat("a", 48) + "…\" is no name"},
		{good + "namespace: true\n", "4: namespace: must be text, not true or false; put it into quotes"},
		{good + "strategy: default\n", "4: strategy: is for mode scaled-job; remove it"},
		{good + "metric: oldest\n", "1: target: is missing; with metric oldest give the seconds that a job may wait"},
		{good + "metric: running\n", "4: metric: running is 0 until there is a replica, so it cannot start the first"},
		{good + "fallback: {after: 0}\n", `4: fallback.after: "0" must be a whole number from 1`},
		{good + "cron: 8\n", "4: cron: must be a list of {timezone, start, end, replicas}, not a number"},
		{good + "cron: [{start: a, replicas: 40}]\n", "4: cron: item 1 needs timezone"},
		{good + "cron: [{timezone: UTC, start: a, end: b, replicas: 40}]\n", "4: cron: item 1 has more replicas than max, 30"},
		{good + "tokenFrom: TOKEN\n", "4: tokenFrom: must be a map, not text"},
		{good + "tokenFrom: {env: A, secret: b}\n", "4: tokenFrom: give either env, a variable of the worker, or secret"},
		// Case 66: a TriggerAuthentication's token reaches no external scaler.
		{good + "tokenFrom: {secret: a}\n", "4: tokenFrom: KEDA hands a Secret's token to no external scaler; give {env: LEADSMAN_TOKEN}"},
		// Case 67: nobody names a database here.
		{good + "url: postgres://db\n", "4: url: unknown key;"},
		{good + "server: {url: leadsman:8080}\n", `4: server.url: "leadsman:8080" must begin with http:// or https://`},
		{good + "server: {addr: a:1}\n", `4: server.addr: unknown key; did you mean "address"?`},
		{good + "prometheus: {labels: [a]}\n", "4: prometheus.labels: must be a map, not a list"},
		{"source: mail\nmax: 3\n", "1: worker: is missing; name the Deployment to scale"},
		{"worker: a\nmax: 3\n", "1: source: is missing; name a source of the server's configuration"},
		{"worker: a\nsource: b\n", "1: max: is missing; give the most replicas that there may be"},
		{"worker: {kind: Rollout, name: a}\nsource: b\nmax: 3\n", "1: worker.kind: give kind and apiVersion together"},
		{"worker: {name: a, job: {}}\nsource: b\nmax: 3\n", "1: worker: job is for mode scaled-job, and the mode is external-push"},

		{good + "mode: metrics-api\nlinger: 5m\n", "5: linger: has no effect: leadsman is not asked whether the trigger is active in mode metrics-api"},
		{good + "mode: metrics-api\nactiveWhileRunning: true\n", "5: activeWhileRunning: has no effect"},
		{good + "mode: metrics-api\ntokenFrom: {env: A}\n", "5: tokenFrom: mode metrics-api takes a token from a Secret, not from the worker's environment"},
		{good + "mode: metrics-api\ntls: {caSecret: a}\n", "5: tls: KEDA's metrics-api trigger takes a CA only along with a client certificate"},
		{good + "mode: prometheus\n", "1: prometheus: url is missing: KEDA asks Prometheus"},
		{good + "mode: prometheus\nprometheus: {url: http://p}\ntls: {}\n", "6: tls: is for asking leadsman"},
		{good + "mode: prometheus\nprometheus: {url: http://p}\nlookahead: 5m\n", "6: lookahead: has no effect"},
		{good + "mode: prometheus\nprometheus: {url: http://p}\nmetric: utilization\ntarget: 1\n", "6: metric: utilization cannot be summed"},
		{good + "mode: prometheus-hpa\nmin: 0\n", "5: min: 0 is not for a HorizontalPodAutoscaler, which needs 1 to scale"},
		{good + "mode: prometheus-hpa\npoll: 5s\n", "5: poll: is KEDA's, and mode prometheus-hpa is without KEDA; remove it"},
		{good + "mode: prometheus-hpa\nactivation: 5\n", "5: activation: has no effect"},

		{good + "mode: scaled-job\n", "1: worker: job is missing: mode scaled-job makes Jobs"},
		{goodJob + "cpu: 5\n", "11: cpu: has no effect on a ScaledJob, whose Jobs end by themselves; remove it"},
		{goodJob + "tokenFrom: {env: TOKEM}\n", `11: tokenFrom: no container of worker.job has a variable "TOKEM"`},
		{strings.Replace(goodJob, "Never", "Always", 1), "4: worker: job.template.spec.restartPolicy must be Never or OnFailure"},
		{strings.Replace(goodJob, "containers:", "container:", 1), "4: worker: job has no template.spec.containers"},
		{strings.Replace(goodJob, "[{name: a", "&a [*a, {name: a", 1), "4: worker: job cannot be read: "},
		{
			strings.Replace(goodJob, "containers:", "010: a\n        8: b\n        containers:", 1),
			"4: worker: job is not what kubectl takes: key 8 already set in map; correct it",
		},
	} {
		t.Run(fmt.Sprintf("%.60s", strings.TrimPrefix(strings.TrimPrefix(tc.text, good), goodJob)), func(t *testing.T) {
			if got := parse(tc.text); !strings.HasPrefix(got, "a.yaml:"+tc.want) || strings.Contains(got, "\n") {
				t.Errorf("faults\n     %s\nwant a.yaml:%s", got, tc.want)
			}
		})
	}
}

// Case 29: a strategy and a metric that do not fit would start too many Jobs, or none.
func TestScaledJobsMetricFitsItsStrategy(t *testing.T) {
	fits := map[string]string{"default": "outstanding", "accurate": "ready", "eager": "ready"}
	for strategy, metric := range fits {
		for _, asked := range []string{"ready", "outstanding", "running", "scheduled", "oldest\ntarget: 5"} {
			got := parse(goodJob + "strategy: " + strategy + "\nmetric: " + asked + "\n")
			if asked == metric && got != "" {
				t.Errorf("%s with %s: %s", strategy, asked, got)
			}
			if asked != metric && !strings.Contains(got, "it goes with metric "+metric) {
				t.Errorf("%s with %s: %q", strategy, asked, got)
			}
		}
		// What is left out follows from the other.
		specs, err := manifest.Parse(manifest.File{Name: "a.yaml", Data: []byte(goodJob + "strategy: " + strategy + "\n")})
		if err != nil || specs[0].Metric != metric {
			t.Errorf("%s without a metric: %v, %v", strategy, specs, err)
		}
	}
	for metric, strategy := range map[string]string{"ready": "accurate", "outstanding": "default"} {
		specs, err := manifest.Parse(manifest.File{Name: "a.yaml", Data: []byte(goodJob + "metric: " + metric + "\n")})
		if err != nil || specs[0].Strategy != strategy {
			t.Errorf("%s without a strategy: %v, %v", metric, specs, err)
		}
	}
}

func TestParseSaysAllFaultsAtOnceByFileAndLine(t *testing.T) {
	_, err := manifest.Parse(
		manifest.File{Name: "b.yaml", Data: []byte("worker: a\nqeue: x\n---\nworker: b\nmax: 5\nmin: -1\nsource: c\n")},
		manifest.File{Name: "a.yaml", Data: []byte("max: x\nmode: y\n")},
	)
	const want = `b.yaml:2: qeue: unknown key; did you mean "queue"?
b.yaml:6: min: "-1" must be a whole number from 0 to 100000
a.yaml:1: max: "x" must be a whole number from 1 to 100000
a.yaml:2: mode: "y" is not known; known are external, external-push, metrics-api, prometheus, prometheus-hpa, scaled-job`
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("faults (-want +got):\n%s", cmp.Diff(want, fmt.Sprint(err)))
	}
}

func TestParseRefusesTwoAutoscalersOfOneWorker(t *testing.T) {
	two := good + "---\n" + good + "name: other\n"
	if got := parse(two); !strings.HasPrefix(got, `a.yaml:5: worker: "mailer" has an autoscaler already, by the spec at a.yaml:1`) {
		t.Error(got)
	}
	if got := parse(good + "---\n" + good); !strings.HasPrefix(got, `a.yaml:5: name: "mailer" is that of the spec at a.yaml:1 too`) {
		t.Error(got)
	}
	if got := parse(good + "---\n" + good + "namespace: elsewhere\n"); got != "" {
		t.Error(got)
	}
}
