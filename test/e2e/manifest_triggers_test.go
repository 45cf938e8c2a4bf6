package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	corev1 "k8s.io/api/core/v1"
)

// A bench is where KEDA's scalers are tried: servers with the sources that manifests name, one in plain text and one with
// TLS, and the Secrets that manifests name.
type bench struct {
	plain, tls *server
	token      token
	secrets    map[string]string // by key
}

func newBench(t *testing.T) *bench {
	t.Helper()
	a := newApp(t)
	a.enqueue("mail-out", 7)
	sources := fmt.Sprintf("sources: {mail: {url: %q, preset: river}, video: {url: %q, preset: river}}\n", a.url, a.url)
	made, authority := newToken(t, "keda"), newAuthority(t, "both")
	client := authority.client(operator)
	return &bench{
		plain: serve(t, sources+tokensConfig(made)),
		tls:   serveTLS(t, sources+tlsConfig+tokensConfig(made), authority, authority),
		token: made,
		secrets: map[string]string{
			"ca.crt": authority.PEM, "tls.crt": client.cert, "tls.key": client.key, "token": made.Token,
		},
	}
}

// resolve is what KEDA makes of a TriggerAuthentication.
func (b *bench) resolve(t *testing.T, auth *kedav1alpha1.TriggerAuthentication) map[string]string {
	t.Helper()
	params := map[string]string{}
	for _, from := range auth.Spec.SecretTargetRef {
		value, ok := b.secrets[from.Key]
		if !ok {
			t.Errorf("no Secret holds %s", from.Key)
		}
		params[from.Parameter] = value
	}
	return params
}

// check makes KEDA's scaler of a trigger and, where leadsman answers it, asks.
func (b *bench) check(t *testing.T, index int, shown *kedav1alpha1.ScaleTriggers, auth map[string]string) {
	t.Helper()
	s := b.plain
	if auth["caCert"] != "" {
		s = b.tls
	}
	tr := trigger{object: "made", index: index, metadata: with(shown.Metadata, metadata{"scalerAddress": s.addr}), auth: auth}
	tr.env = map[string]string{"LEADSMAN_TOKEN": b.token.Token}
	if shown.Type == "metrics-api" {
		tr.metadata["url"] = strings.Replace(shown.Metadata["url"], "http://leadsman-http.leadsman.svc:8080", "http://"+s.http, 1)
	}
	config := tr.config(t, s)
	config.MetricType, config.GlobalHTTPTimeout = shown.MetricType, 3*time.Second
	var made scalers.Scaler
	var err error
	switch shown.Type {
	case "external":
		made, err = scalers.NewExternalScaler(config)
	case "external-push":
		made, err = scalers.NewExternalPushScaler(config)
	case "metrics-api":
		made, err = scalers.NewMetricsAPIScaler(config, nil)
	case "prometheus":
		made, err = scalers.NewPrometheusScaler(config)
	case "cpu", "memory":
		made, err = scalers.NewCPUMemoryScaler(corev1.ResourceName(shown.Type), config)
	case "cron":
		made, err = scalers.NewCronScaler(config)
	default:
		t.Fatalf("a trigger of type %s, which no test knows", shown.Type)
	}
	if err != nil {
		t.Fatalf("KEDA refuses the trigger %+v: %v", shown, err)
	}
	x := newScaler(t, made, config)
	specs := x.GetMetricSpecForScaling(x.context())
	if len(specs) != 1 {
		t.Fatalf("trigger %+v has the metric specs %+v", shown, specs)
	}
	switch shown.Type {
	case "external", "external-push", "metrics-api":
		_, _, err := x.poll(specs[0].External.Metric.Name)
		// River, which the bench has, keeps no registry of workers, and what is not known is an error.
		unknown := strings.Contains(shown.Metadata["metric"]+shown.Metadata["url"], "utilization")
		if (err != nil) != unknown {
			t.Errorf("trigger %+v gets the error %v", shown, err)
		}
	case "prometheus":
		parsePromQL(t, shown.Metadata["query"])
	}
}
