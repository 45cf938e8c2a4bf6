package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	corev1 "k8s.io/api/core/v1"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A bench is where KEDA's scalers are tried: servers with the sources that manifests name, one in plain text and one with
// TLS, and the Secrets that manifests name.
type bench struct {
	plain, tls *rig.Server
	token      rig.Token
	secrets    map[string]string // by key
}

func newBench(t *testing.T) *bench {
	t.Helper()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail-out", 7)
	sources := fmt.Sprintf("sources: {mail: {url: %q, preset: river}, video: {url: %q, preset: river}}\n", a.URL, a.URL)
	made, authority := rig.NewToken(t, "keda"), rig.NewAuthority(t, "both")
	client := authority.Client(operator)
	return &bench{
		plain: rig.Serve(t, sources+rig.TokensConfig(made)),
		tls:   serveTLS(t, sources+tlsConfig+rig.TokensConfig(made), authority, authority),
		token: made,
		secrets: map[string]string{
			"ca.crt": authority.PEM, "tls.crt": client.Cert, "tls.key": client.Key, "token": made.Token,
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
	tr := rig.Trigger{Object: "made", Index: index, Metadata: with(shown.Metadata, rig.Metadata{"scalerAddress": s.GRPC}), Auth: auth}
	tr.Env = map[string]string{"LEADSMAN_TOKEN": b.token.Token}
	if shown.Type == "metrics-api" {
		tr.Metadata["url"] = strings.Replace(shown.Metadata["url"], "http://leadsman-http.leadsman.svc:8080", "http://"+s.HTTP, 1)
	}
	config := tr.Config(t, s)
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
	x := rig.NewScaler(t, made, config)
	specs := x.GetMetricSpecForScaling(x.Context())
	if len(specs) != 1 {
		t.Fatalf("trigger %+v has the metric specs %+v", shown, specs)
	}
	switch shown.Type {
	case "external", "external-push", "metrics-api":
		_, _, err := x.Poll(specs[0].External.Metric.Name)
		// River, which the bench has, keeps no registry of workers, and what is not known is an error.
		unknown := strings.Contains(shown.Metadata["metric"]+shown.Metadata["url"], "utilization")
		if (err != nil) != unknown {
			t.Errorf("trigger %+v gets the error %v", shown, err)
		}
	case "prometheus":
		parsePromQL(t, shown.Metadata["query"])
	}
}
