package lint_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler/lint"
)

const (
	overHTTP = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: mailer, namespace: team-mail}
spec:
  scaleTargetRef: {name: mailer}
  minReplicaCount: 0
  fallback: {failureThreshold: 3, replicas: 2}
  triggers:
    - type: metrics-api
      metricType: AverageValue
      authenticationRef: {name: leadsman}
      metadata:
        url: http://leadsman-http.leadsman.svc:8080/api/scaler?source=mail&queue=mail-out&target=5
        valueLocation: metricValue
        targetValue: "5"
        authModes: bearer
`
	authentication = `
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: leadsman, namespace: team-mail}
spec: {secretTargetRef: [{parameter: token, name: leadsman, key: token}]}
`
	query = `/api/scaler?source=mail&queue=mail-out&target=5`
)

// overHTTPLines are the lines of findings that any metrics-api trigger has.
const (
	asks  = "ok spec.triggers[0].metadata.url"
	waits = "note spec.triggers[0].type"
)

// The server knows three sources, of one of which the queues are known, and asks for a credential.
func server() *lint.Linter {
	return &lint.Linter{
		Sources: []lint.Source{
			{Name: "mail", CountLimit: 100, Queues: []string{"mail-in", "mail-out", "web"}},
			{Name: "video", NoLookahead: true},
			{Name: "empty", Queues: []string{}},
		},
		HTTP: &lint.HTTP{Locked: true},
	}
}

func TestAMetricsAPITriggerIsReadAsKEDAReadsIt(t *testing.T) {
	t.Parallel()
	got := linted(t, server(), overHTTP, authentication)
	same(t, got, asks, waits)
	const want = "KEDA asks for ready+running of mail-out in source mail, and is active above 0; outstanding over 5 is the number of replicas"
	if got[0].Found != want {
		t.Errorf("%q\nwant %q", got[0].Found, want)
	}
}

func TestMetricsAPIMistakes(t *testing.T) {
	t.Parallel()
	const trigger, metadata = "spec.triggers[0].", "spec.triggers[0].metadata."
	for _, c := range []struct {
		name, old, instead string
		want               []string
	}{
		// The URL, by the parser of the server, in both its forms.
		{"path form", query, "/api/scaler/mail/mail-out?target=5", []string{asks, waits}},
		{"a slash in a queue", query, "/api/scaler/video/in/out?target=5", []string{asks, waits}},
		{"behind a proxy", query, "/leadsman" + query, []string{asks, waits}},
		{"unknown source", "source=mail", "source=mial", []string{"fail " + metadata + "url", waits}},
		{"unknown source, path form", query, "/api/scaler/mial?target=5", []string{"fail " + metadata + "url", waits}},
		{"no source of several", "source=mail&", "", []string{"fail " + metadata + "url", waits}},
		{"given twice", query, "/api/scaler/mail?source=mail", []string{"fail " + metadata + "url", waits}},
		{"unknown metric", "target=5\n", "target=5&metric=pending\n", []string{"fail " + metadata + "url", asks, waits}},
		{"unknown parameter", "target=5\n", "target=5&queueName=x\n", []string{"fail " + metadata + "url", asks, waits}},
		{"a host", "target=5\n", "target=5&host=hunter2\n", []string{"fail " + metadata + "url", asks, waits}},
		{"no lookahead", "source=mail&", "source=video&lookahead=5m&", []string{"fail " + metadata + "url", asks, waits}},
		{"nothing there", query, "/api/scalers", []string{"fail " + metadata + "url", waits}},
		{"elsewhere", "leadsman-http.leadsman.svc:8080" + query, "other/value", []string{"note spec.triggers"}},
		{"no scheme", "http://leadsman-http", "leadsman-http", []string{"fail " + metadata + "url", asks, waits}},
		{"a user", "http://", "http://a:hunter2@", []string{"fail " + metadata + "url", asks, waits}},
		{"a bad escape", "queue=mail-out", "queue=%zz", []string{"fail " + metadata + "url", waits}},
		{"a token in it", "target=5\n", "target=5&token=hunter2\n", []string{"warn " + metadata + "url", asks, waits}},
		{"no meaning to KEDA", "target=5\n", "target=5&activation=3&linger=5m\n", []string{"warn " + metadata + "url", "warn " + metadata + "url", asks, waits}},
		{"another target", "target=5\n", "target=50\n", []string{"note " + metadata + "url", asks, waits}},
		// Queues, where they are known.
		{"unknown queue", "queue=mail-out", "queue=mail-outt", []string{"warn " + metadata + "url", asks, waits}},
		{"one unknown of two", "queue=mail-out", "queue=mail-out,spam", []string{"warn " + metadata + "url", asks, waits}},
		{"a glob", "queue=mail-out", "queue=mail-*", []string{asks, waits}},
		{"a glob of nothing", "queue=mail-out", "queue=spam-*", []string{"warn " + metadata + "url", asks, waits}},
		{"no queue yet", "source=mail", "source=empty", []string{"warn " + metadata + "url", asks, waits}},
		{"queues not known", "source=mail&queue=mail-out", "source=video&queue=x", []string{asks, waits}},
		// What KEDA reads.
		{"no target", `targetValue: "5"`, `timeout: 3s`, []string{"fail " + metadata + "targetValue", waits}},
		{"target 0", `targetValue: "5"`, `targetValue: "0"`, []string{"fail " + metadata + "targetValue", waits}},
		{"target too small", `targetValue: "5"`, `targetValue: "0.0004"`, []string{"fail " + metadata + "targetValue", waits}},
		{"target is none", `targetValue: "5"`, `targetValue: five`, []string{"fail " + metadata + "targetValue", waits}},
		{"target from the environment", `targetValue: "5"`, `targetValueFromEnv: T`, []string{"warn " + metadata + "targetValueFromEnv", "fail " + metadata + "targetValue", waits}},
		{"activation below 0", `authModes: bearer`, "authModes: bearer\n        activationTargetValue: \"-1\"", []string{"fail " + metadata + "activationTargetValue", asks, waits}},
		{"an unknown key", `authModes: bearer`, "authModes: bearer\n        activationTarget: \"1\"", []string{"warn " + metadata + "activationTarget", asks, waits}},
		{"another format", `authModes: bearer`, "authModes: bearer\n        format: prometheus", []string{"fail " + metadata + "format", asks, waits}},
		{"YAML is JSON too", `authModes: bearer`, "authModes: bearer\n        format: yaml", []string{asks, waits}},
		{"each pod, without its question", `authModes: bearer`, "authModes: bearer\n        aggregateFromKubeServiceEndpoints: \"true\"", []string{"fail " + metadata + "url", asks, waits}},
		{"no truth", `authModes: bearer`, "authModes: bearer\n        aggregateFromKubeServiceEndpoints: \"yes\"", []string{"fail " + metadata + "aggregateFromKubeServiceEndpoints", asks, waits}},
		// Which number of the answer.
		{"no location", `valueLocation: metricValue`, `timeout: 3s`, []string{"fail " + metadata + "valueLocation", waits}},
		{"misspelt", `valueLocation: metricValue`, `valueLocation: metricvalue`, []string{"fail " + metadata + "valueLocation", waits}},
		{"no number", `valueLocation: metricValue`, `valueLocation: isActive`, []string{"fail " + metadata + "valueLocation", waits}},
		{"workers", `valueLocation: metricValue`, `valueLocation: liveWorkers`, []string{"fail " + metadata + "valueLocation", waits}},
		{"a share", `valueLocation: metricValue`, `valueLocation: workerUtilization`, []string{asks, "fail " + trigger + "metricType", waits}},
		{"a queue's ready", `valueLocation: metricValue`, `valueLocation: perQueue.mail-out.ready`, []string{"note " + metadata + "valueLocation", asks, "warn " + metadata + "valueLocation", waits}},
		{"a queue's age", `valueLocation: metricValue`, `valueLocation: perQueue.mail-out.oldestSeconds`, []string{"note " + metadata + "valueLocation", asks, "fail " + trigger + "metricType", waits}},
		{"another queue", `valueLocation: metricValue`, `valueLocation: perQueue.web.ready`, []string{"fail " + metadata + "valueLocation", waits}},
		{"no number of a queue's", `valueLocation: metricValue`, `valueLocation: perQueue.mail-out.paused`, []string{"fail " + metadata + "valueLocation", waits}},
		{"GJSON's own language", `valueLocation: metricValue`, `valueLocation: "perQueue.@values.0.ready"`, []string{waits}},
		// metric against metricType.
		{"ready", "target=5\n", "target=5&metric=ready\n", []string{asks, "warn " + metadata + "url", waits}},
		{"an age", "target=5\n", "target=5&metric=oldest\n", []string{asks, "fail " + trigger + "metricType", waits}},
		{"Value", "metricType: AverageValue", "metricType: Value", []string{asks, "fail " + trigger + "metricType", waits}},
		// Who KEDA is.
		{"no mode", "        authModes: bearer\n", "", []string{"fail " + metadata + "authModes", asks, waits}},
		{"no mode that there is", "authModes: bearer", "authModes: Bearer", []string{"fail " + metadata + "authModes", asks, waits}},
		{"passwords", "authModes: bearer", "authModes: basic", []string{"fail " + metadata + "authModes", asks, waits}},
		{"nothing to show", "      authenticationRef: {name: leadsman}\n", "", []string{"fail " + metadata + "authModes", asks, waits}},
		{"a key", "authModes: bearer", "authModes: apiKey", []string{"fail " + trigger + "authenticationRef", asks, waits}},
		{"a key in clear", "authModes: bearer", "authModes: apiKey\n        apiKey: hunter2", []string{"warn " + metadata + "apiKey", asks, waits}},
		{"another header", "authModes: bearer", "authModes: apiKey\n        keyParamName: X-Token", []string{"fail " + trigger + "authenticationRef", "fail " + metadata + "keyParamName", asks, waits}},
		{"another parameter", "authModes: bearer", "authModes: apiKey\n        method: query\n        keyParamName: key", []string{"fail " + trigger + "authenticationRef", "fail " + metadata + "keyParamName", asks, waits}},
		{"a certificate without TLS", "authModes: bearer", "authModes: \"bearer, tls\"", []string{"fail " + trigger + "authenticationRef", "fail " + trigger + "authenticationRef", "warn " + metadata + "url", asks, waits}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := linted(t, server(), but(t, overHTTP, c.old, c.instead), authentication)
			same(t, got, c.want...)
			for _, f := range got {
				if strings.Contains(f.Found+f.Remedy, "hunter2") {
					t.Errorf("a secret shows: %+v", f)
				}
			}
		})
	}
}

func TestWhatIsMeantIsNamed(t *testing.T) {
	t.Parallel()
	for old, c := range map[string]struct{ instead, remedy string }{
		"source=mail":                  {"source=mial", `did you mean "mail"? known: empty, mail, video`},
		"queue=mail-out":               {"queue=mail-uot", "did you mean mail-out, mail-in?"},
		"valueLocation: metricValue":   {"valueLocation: metricVal", "write metricValue"},
		"authModes: bearer":            {"authModes: Bearer", "write bearer"},
		"target=5\n":                   {"target=5&metric=oldst\n", "give one of ready, running, outstanding, scheduled, oldest, utilization"},
		"        authModes: bearer\n":  {"        authMode: berer\n", "write bearer"},
		"targetValue: \"5\"":           {"targetValues: \"5\"", "write targetValue"},
		"&target=5\n        valueLoca": {"&target=5&targt=6\n        valueLoca", `did you mean "target"?`},
	} {
		got := linted(t, server(), but(t, overHTTP, old, c.instead), authentication)
		if got[0].Remedy != c.remedy {
			t.Errorf("%s: %+v, want the remedy %q", c.instead, got[0], c.remedy)
		}
	}
}

// Whatever is not among the documents, or not known of the server, may be right.
func TestWhatIsNotKnownIsNoMistake(t *testing.T) {
	t.Parallel()
	same(t, linted(t, &lint.Linter{}, overHTTP), asks, waits)
	same(t, linted(t, &lint.Linter{}, but(t, overHTTP, "source=mail", "source=other")), asks, waits)
	same(t, linted(t, &lint.Linter{}, but(t, overHTTP, "authModes: bearer", "authModes: apiKey")), asks, waits)
	same(t, linted(t, &lint.Linter{}, but(t, overHTTP, "        authModes: bearer\n", "")), "note spec.triggers[0].metadata.authModes", asks, waits)
	vault := but(t, authentication, "secretTargetRef: [{parameter: token, name: leadsman, key: token}]", "hashiCorpVault: {address: x}")
	same(t, linted(t, server(), overHTTP, vault), asks, waits)
	elsewhere := but(t, authentication, "namespace: team-mail", "namespace: other")
	same(t, linted(t, server(), but(t, overHTTP, "authModes: bearer", "authModes: apiKey"), elsewhere), asks, waits)
	cluster := but(t, authentication, "kind: TriggerAuthentication", "kind: ClusterTriggerAuthentication")
	byCluster := but(t, overHTTP, "{name: leadsman}", "{name: leadsman, kind: ClusterTriggerAuthentication}")
	same(t, linted(t, server(), byCluster, but(t, cluster, "parameter: token", "parameter: tokn")),
		"fail spec.triggers[0].authenticationRef", asks, waits)
	secure := server()
	secure.HTTP.TLS = true
	same(t, linted(t, secure, overHTTP, authentication), "warn spec.triggers[0].metadata.url", asks, waits)
}

// A ScaledJob is held against its strategy whatever way it asks.
func TestAScaledJobOverHTTP(t *testing.T) {
	t.Parallel()
	job := but(t, scaledJob, `    - type: external
      metadata: {scalerAddress: "leadsman:50051", queue: video, metric: ready, target: "1"}`, `    - type: metrics-api
      metadata: {url: "http://leadsman:8080/api/scaler?queue=video&metric=ready&target=1", valueLocation: metricValue, targetValue: "1"}`)
	same(t, linted(t, &lint.Linter{}, job), asks, "ok ")
	same(t, linted(t, &lint.Linter{}, but(t, job, "strategy: accurate", "strategy: default")), asks, "fail spec.triggers[0].metadata.url")
	same(t, linted(t, &lint.Linter{}, but(t, job, "&metric=ready", "")), asks, "fail spec.triggers[0].metadata.url")
}

// KEDA may scrape leadsman by itself: valueLocation picks a series then.
func TestAScrapeByKEDA(t *testing.T) {
	t.Parallel()
	scrape := but(t, but(t, overHTTP, query, "/metrics"), "valueLocation: metricValue",
		"valueLocation: 'leadsman_queue_jobs{source=\"mail\",queue=\"mail-out\",state=\"ready\"}'\n        format: prometheus")
	const location = "spec.triggers[0].metadata.valueLocation"
	same(t, linted(t, server(), scrape, authentication), asks, "warn "+location, waits)
	for _, c := range []struct{ old, instead, want string }{
		{`state="ready"`, `state="redy"`, "fail " + location},
		{`state="ready"`, `state=~"ready"`, "fail " + location},
		{`,state="ready"`, ``, "fail " + location},
		{`source="mail"`, `source="mial"`, "fail " + location},
		{`leadsman_queue_jobs`, `leadsman_queue_job`, "fail " + location},
		{`leadsman_queue_jobs{`, `leadsman_queue_jobs{{`, "fail " + location},
	} {
		same(t, linted(t, server(), but(t, scrape, c.old, c.instead), authentication), c.want, waits)
	}
	same(t, linted(t, server(), but(t, scrape, "        format: prometheus\n", ""), authentication),
		"fail spec.triggers[0].metadata.format", asks, "warn "+location, waits)
}
