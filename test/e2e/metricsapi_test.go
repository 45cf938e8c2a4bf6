package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// anyName is what KEDA's metrics-api scaler returns its one value under: it makes the name of valueLocation.
const anyName = "s0-metric-api"

// metricsAPI makes KEDA's scaler for a trigger of type metrics-api on the server's HTTP. It is closed when the test
// ends. url follows the server's address.
func metricsAPI(t *testing.T, s *rig.Server, url string, tr rig.Trigger) *rig.Scaler {
	t.Helper()
	config := tr.Config(t, s)
	all := rig.Metadata{"url": "http://" + s.HTTP + url, "valueLocation": "metricValue", "targetValue": "10"}
	config.TriggerMetadata = with(all, tr.Metadata)
	config.GlobalHTTPTimeout = 3 * time.Second // KEDA's default
	return newMetricsAPI(t, config)
}

func newMetricsAPI(t *testing.T, config *scalersconfig.ScalerConfig) *rig.Scaler {
	t.Helper()
	made, err := scalers.NewMetricsAPIScaler(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rig.NewScaler(t, made, config)
}

// Case 27: KEDA's own client of plain JSON.
func TestMetricsAPIReadsTheValue(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	a.Enqueue("video", 4)
	s := rig.Serve(t, a.Source())
	for url, want := range map[string]float64{
		"/api/scaler/mail/mail":                                   3,
		"/api/scaler/mail":                                        7,
		"/api/scaler?source=mail&queue=mail,video":                7,
		"/api/scaler?queue=mail&metric=ready&target=1.5":          3,
		"/api/scaler?queue=nobody":                                0,
		"/api/scaler?queue=mail&max=2":                            2,
		"/api/scaler?source=mail&queue=video&activationDepth=100": -1, // no such key
	} {
		x := metricsAPI(t, s, url, rig.Trigger{Object: url})
		got, active, err := x.Poll(anyName)
		switch {
		case want < 0:
			if err == nil {
				t.Errorf("%s: %v, want an error", url, got)
			}
		case err != nil || got != want || active != (want > 0):
			t.Errorf("%s: %v, %v, %v, want %v", url, got, active, err, want)
		}
	}
	for location, want := range map[string]float64{
		"perQueue.mail.pending": 3, "perQueue.mail.ready": 3, "perQueue.mail.running": 0, "targetQueueDepth": 10,
	} {
		x := metricsAPI(t, s, "/api/scaler/mail/mail", rig.Trigger{Object: location, Metadata: rig.Metadata{"valueLocation": location}})
		if got, _, err := x.Poll(anyName); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", location, got, err, want)
		}
	}
	x := metricsAPI(t, s, "/api/scaler/mail/mail", rig.Trigger{Object: "follows"})
	follows := func(want float64) {
		t.Helper()
		rig.Eventually(t, 10*time.Second, "the value follows", func() bool {
			got, active, err := x.Poll(anyName)
			return err == nil && got == want && active
		})
	}
	follows(3)
	a.Enqueue("mail", 2)
	follows(5)
}

// What leadsman explain says is what KEDA's own scaler comes to: the value, whether it is active, and that it is an error.
func TestExplainSaysWhatKEDAsMetricsAPIComesTo(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	a.Enqueue("team_a", 4)
	s := rig.Serve(t, a.Source())
	for _, tc := range []struct{ url, location, activation string }{
		{"/api/scaler/mail/mail", "metricValue", "0"},
		{"/api/scaler/mail/mail", "metricValue", "3"},
		{"/api/scaler/mail/mail?activation=100", "metricValue", "2.5"},
		{"/api/scaler?source=mail&queue=mail,team_a&max=5.5", "metricValue", "0"},
		{"/api/scaler/mail/mail?target=4", "targetQueueDepth", "0"},
		{"/api/scaler/mail", `perQueue.team\_a.ready`, "4"},
		{"/api/scaler/mail", "perQueue.mail.running", "-1"},
		{"/api/scaler/mail", "perQueue.team.a.ready", "0"},
		{"/api/scaler/mail/mail", "perQueue.team_a.ready", "0"},
		{"/api/scaler/mail/mail", "isActive", "0"},
		{"/api/scaler/mail/mail", "metricvalue", "0"},
		{"/api/scaler/male/mail", "metricValue", "0"},
		{"/api/scaler/mail?metric=none", "metricValue", "0"},
		{"/api/scaler/mail?metric=utilization", "metricValue", "0"},
	} {
		x := metricsAPI(t, s, tc.url, rig.Trigger{Object: tc.url, Metadata: rig.Metadata{"valueLocation": tc.location, "activationTargetValue": tc.activation}})
		want, active, kedaErr := x.Poll(anyName)
		// What it cannot explain has exit code 1, and says so on standard output too.
		out, _ := rig.Leadsman(t, t.TempDir(), "explain", "--server", s.GRPC, "-o", "json", "url=http://elsewhere:8080"+tc.url,
			"valueLocation="+tc.location, "targetValue=10", "activationTargetValue="+tc.activation).Output()
		var explained struct {
			Objects []struct {
				Triggers []struct {
					Error  string
					Answer struct {
						Value  *float64
						Active *bool
					}
				}
			}
		}
		if err := json.Unmarshal(out, &explained); err != nil || len(explained.Objects) != 1 || len(explained.Objects[0].Triggers) != 1 {
			t.Fatalf("%s: %v: %s", tc.url, err, out)
		}
		got := explained.Objects[0].Triggers[0]
		switch {
		case kedaErr != nil:
			if got.Error == "" || got.Answer.Value != nil {
				t.Errorf("%s at %s: KEDA has %v, explain %s", tc.url, tc.location, kedaErr, out)
			}
		case got.Error != "" || got.Answer.Value == nil || *got.Answer.Value != want || got.Answer.Active == nil || *got.Answer.Active != active:
			t.Errorf("%s at %s above %s: KEDA has %v and %v, explain %s", tc.url, tc.location, tc.activation, want, active, out)
		}
	}
}

// KEDA's client of Prometheus' text format, on the very page that Prometheus scrapes.
func TestMetricsAPIReadsThePrometheusFormat(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	s := rig.Serve(t, a.Source())
	for location, want := range map[string]float64{
		`leadsman_queue_jobs{source="mail",queue="mail",state="ready"}`:     3,
		`leadsman_queue_jobs{source="mail",queue="mail",state="scheduled"}`: 0,
		`leadsman_source_up{source="mail"}`:                                 1,
	} {
		x := metricsAPI(t, s, "/metrics", rig.Trigger{Object: location, Metadata: rig.Metadata{"format": "prometheus", "valueLocation": location}})
		if got, _, err := x.Poll(anyName); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", location, got, err, want)
		}
	}
}

func TestMetricsAPICarriesTheToken(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	good, narrow := rig.NewToken(t, "keda"), rig.NewToken(t, "narrow", "--queue", "bill-*")
	s := rig.Serve(t, a.Source()+rig.TokensConfig(good, narrow))
	for name, tc := range map[string]struct {
		auth    map[string]string
		refused string // the status; "" for none
	}{
		"bearer":       {map[string]string{"authMode": "bearer", "token": good.Token}, ""},
		"header":       {map[string]string{"authMode": "apiKey", "apiKey": good.Token}, ""},
		"parameter":    {map[string]string{"authMode": "apiKey", "apiKey": good.Token, "method": "query"}, ""},
		"own header":   {map[string]string{"authMode": "apiKey", "apiKey": good.Token, "keyParamName": "X-Api-Key"}, ""},
		"nothing":      {nil, "401"},
		"wrong bearer": {map[string]string{"authMode": "bearer", "token": "ldm_keda_nonsense"}, "401"},
		"wrong key":    {map[string]string{"authMode": "apiKey", "apiKey": "ldm_keda_nonsense", "method": "query"}, "401"},
		"other queues": {map[string]string{"authMode": "bearer", "token": narrow.Token}, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			x := metricsAPI(t, s, "/api/scaler/mail/mail", rig.Trigger{Object: name, Auth: tc.auth})
			got, active, err := x.Poll(anyName)
			switch {
			case tc.refused == "" && (err != nil || got != 3 || !active):
				t.Errorf("%v, %v, %v", got, active, err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("%v, %v, want status %s", got, err, tc.refused)
			}
		})
	}
	if lines := s.Log.Find(good.Token); len(lines) > 0 {
		t.Errorf("the log shows a token: %q", lines)
	}
}

// A database that is down is an error to KEDA, for its fallback, and never a 0; and no reason to end a process.
func TestMetricsAPIFailsWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	s := rig.Serve(t, "sources: {mail: {url: 'postgres://nobody@127.0.0.1:1/none', preset: river}}\n")
	x := metricsAPI(t, s, "/api/scaler/mail/mail", rig.Trigger{})
	if got, _, err := x.Poll(anyName); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("%v, %v, want status 503", got, err)
	}
	for path, want := range map[string]int{"/health": http.StatusOK, "/readiness": http.StatusServiceUnavailable, "/metrics": http.StatusOK} {
		resp, err := http.Get("http://" + s.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}
