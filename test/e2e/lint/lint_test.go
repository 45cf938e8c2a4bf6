// Package lint holds what "leadsman doctor -f" says of triggers against KEDA itself: of each of them, KEDA's own scaler is made,
// asks a real server, and has an error exactly where lint has a mistake.
package lint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const token = "ldm_keda_kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

// serve starts a server with one source, into which only the token leads, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	store := memory.New()
	store.Set("mail-out", memory.State{Ready: 3, Running: 1, Pool: &driver.Pool{Workers: 2, Capacity: 4}})
	store.Set("web", memory.State{Ready: 1})
	source, err := storage.New("mail", store)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(token))
	registry, quiet := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	server, err := scaler.New(scaler.Options{
		Sources: []scaler.Source{{Source: source}}, Listener: listener, Logger: quiet, Metrics: registry,
		Access: scaler.Access{Tokens: []scaler.Token{{Grant: scaler.Grant{ID: "keda"}, SHA256: hex.EncodeToString(sum[:])}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := web.New(web.Options{Scaler: server, Gatherer: registry, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		front.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return front.URL
}

// A metadata is that of a trigger; an empty value takes a key away.
type metadata map[string]string

func (m metadata) with(changes metadata) metadata {
	all := maps.Clone(m)
	for key, value := range changes {
		if all[key] = value; value == "" {
			delete(all, key)
		}
	}
	return all
}

// mistakes are lint's for one trigger. What a TriggerAuthentication gives is that of auth.
func mistakes(t *testing.T, kind, metricType string, trigger, auth metadata) []string {
	t.Helper()
	type m = map[string]any
	parameters := []m{}
	for name := range auth {
		parameters = append(parameters, m{"parameter": name})
	}
	written := m{"type": kind, "metricType": metricType, "metadata": trigger}
	if auth != nil {
		written["authenticationRef"] = m{"name": "a"}
	}
	text, err := json.Marshal(m{"kind": "List", "items": []m{
		{"kind": "TriggerAuthentication", "metadata": m{"name": "a"}, "spec": m{"secretTargetRef": parameters}},
		{"kind": "ScaledObject", "spec": m{"scaleTargetRef": m{"name": "w"}, "triggers": []m{written}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	linter := &lint.Linter{Sources: []lint.Source{{Name: "mail"}}, HTTP: &lint.HTTP{Locked: true}}
	linter.Add("trigger.json", text)
	var all []string
	for _, f := range linter.Findings() {
		if f.Level == driver.LevelFail {
			all = append(all, f.Key+" "+f.Found)
		}
	}
	return all
}

func config(kind string, trigger, auth metadata) *scalersconfig.ScalerConfig {
	return &scalersconfig.ScalerConfig{
		ScalableObjectName: "o", ScalableObjectNamespace: "n", ScalableObjectType: "ScaledObject", TriggerType: kind,
		TriggerMetadata: trigger, AuthParams: auth, GlobalHTTPTimeout: 10 * time.Second,
	}
}

func TestLintFindsWhereKEDAHasAnErrorOverHTTP(t *testing.T) {
	t.Parallel()
	address := serve(t)
	bearer := metadata{"token": token}
	good := metadata{
		"url": address + "/api/scaler?source=mail&queue=mail-out&target=5", "valueLocation": "metricValue", "targetValue": "5",
		"authModes": "bearer",
	}
	const jobs = `leadsman_queue_jobs{source="mail",queue="mail-out",state="ready"}`
	for name, c := range map[string]struct {
		change metadata
		auth   metadata
		kind   string // metricType
		value  float64
		errs   bool
	}{
		"as it should be":       {auth: bearer, value: 4},
		"path form":             {change: metadata{"url": address + "/api/scaler/mail/mail-out?metric=ready&target=5"}, auth: bearer, value: 3},
		"unknown source":        {change: metadata{"url": address + "/api/scaler/mial"}, auth: bearer, errs: true},
		"unknown metric":        {change: metadata{"url": address + "/api/scaler/mail?metric=pending"}, auth: bearer, errs: true},
		"given twice":           {change: metadata{"url": address + "/api/scaler/mail?source=mail"}, auth: bearer, errs: true},
		"no scheme":             {change: metadata{"url": address[len("http://"):] + "/api/scaler"}, auth: bearer, errs: true},
		"YAML":                  {change: metadata{"format": "yaml"}, auth: bearer, value: 4},
		"XML":                   {change: metadata{"format": "xml"}, auth: bearer, errs: true},
		"no such format":        {change: metadata{"format": "JSON"}, auth: bearer, errs: true},
		"prometheus of JSON":    {change: metadata{"format": "prometheus"}, auth: bearer, errs: true},
		"a queue's ready":       {change: metadata{"valueLocation": "perQueue.mail-out.ready"}, auth: bearer, value: 3},
		"a share":               {change: metadata{"valueLocation": "workerUtilization"}, auth: bearer, kind: "Value", value: .25},
		"a queue not asked for": {change: metadata{"valueLocation": "perQueue.web.ready"}, auth: bearer, errs: true},
		"a queue's truth":       {change: metadata{"valueLocation": "perQueue.mail-out.paused"}, auth: bearer, errs: true},
		"queues":                {change: metadata{"valueLocation": "perQueue"}, auth: bearer, errs: true},
		"a truth":               {change: metadata{"valueLocation": "isActive"}, auth: bearer, errs: true},
		"a text":                {change: metadata{"valueLocation": "metricName"}, auth: bearer, errs: true},
		"letter case":           {change: metadata{"valueLocation": "metricvalue"}, auth: bearer, errs: true},
		"no location":           {change: metadata{"valueLocation": ""}, auth: bearer, errs: true},
		"no target":             {change: metadata{"targetValue": ""}, auth: bearer, errs: true},
		"target 0":              {change: metadata{"targetValue": "0"}, auth: bearer, errs: true},
		"target in words":       {change: metadata{"targetValue": "five"}, auth: bearer, errs: true},
		"target with a plus":    {change: metadata{"targetValue": "+5"}, auth: bearer, errs: true},
		"target of elsewhere":   {change: metadata{"targetValue": "", "targetValueFromEnv": "TARGET"}, auth: bearer, errs: true},
		"activation in words":   {change: metadata{"activationTargetValue": "one"}, auth: bearer, errs: true},
		"another key":           {change: metadata{"target": "5"}, auth: bearer, value: 4},
		"no truth":              {change: metadata{"unsafeSsl": "yes"}, auth: bearer, errs: true},
		"no token":              {auth: metadata{"password": "x"}, errs: true},
		"nothing":               {errs: true},
		"no mode":               {change: metadata{"authModes": ""}, auth: bearer, errs: true},
		"another mode":          {change: metadata{"authModes": "Bearer"}, auth: bearer, errs: true},
		"the older key":         {change: metadata{"authModes": "", "authMode": "bearer"}, auth: bearer, value: 4},
		"passwords":             {change: metadata{"authModes": "basic"}, auth: metadata{"username": "u", "password": "p"}, errs: true},
		"a mode of others":      {change: metadata{"authModes": "oauth"}, auth: bearer, errs: true},
		"a key":                 {change: metadata{"authModes": "apiKey"}, auth: metadata{"apiKey": token}, value: 4},
		"no key":                {change: metadata{"authModes": "apiKey"}, auth: bearer, errs: true},
		"a key as parameter":    {change: metadata{"authModes": "apiKey", "method": "query"}, auth: metadata{"apiKey": token}, value: 4},
		"a parameter's name":    {change: metadata{"authModes": "apiKey", "method": "query", "keyParamName": "token"}, auth: metadata{"apiKey": token}, value: 4},
		"another parameter":     {change: metadata{"authModes": "apiKey", "method": "query", "keyParamName": "key"}, auth: metadata{"apiKey": token}, errs: true},
		"a header's name":       {change: metadata{"authModes": "apiKey", "keyParamName": "x-api-key"}, auth: metadata{"apiKey": token}, value: 4},
		"another header":        {change: metadata{"authModes": "apiKey", "keyParamName": "X-Token"}, auth: metadata{"apiKey": token}, errs: true},
		"a token in the URL":    {change: metadata{"authModes": "", "url": address + "/api/scaler/mail/mail-out?token=" + token}, value: 4},
		"a scrape":              {change: metadata{"url": address + "/metrics", "format": "prometheus", "valueLocation": jobs}, auth: bearer, value: 3},
		"a scrape of JSON":      {change: metadata{"url": address + "/metrics", "valueLocation": jobs}, auth: bearer, errs: true},
		"a scrape by a pattern": {change: metadata{"url": address + "/metrics", "format": "prometheus", "valueLocation": `leadsman_queue_jobs{source="mail",queue="mail-out",state=~"ready|running"}`}, auth: bearer, errs: true},
		"a scrape of nothing":   {change: metadata{"url": address + "/metrics", "format": "prometheus", "valueLocation": `leadsman_queue_jobs{source="mail",queue="mail-out",state="redy"}`}, auth: bearer, errs: true},
		"a scrape of no series": {change: metadata{"url": address + "/metrics", "format": "prometheus", "valueLocation": `leadsman_queue_job{source="mail"}`}, auth: bearer, errs: true},
	} {
		trigger := good.with(c.change)
		value, err := ask(t, config("metrics-api", trigger, c.auth))
		said := mistakes(t, "metrics-api", c.kind, trigger, c.auth)
		if (err != nil) != c.errs || err == nil && value != c.value {
			t.Errorf("%s: KEDA has %v, %v, want %v, error %v", name, value, err, c.value, c.errs)
		}
		if (len(said) > 0) != c.errs {
			t.Errorf("%s: KEDA has %v, and lint %q", name, err, said)
		}
	}
}

// ask makes KEDA's scaler and asks it once.
func ask(t *testing.T, c *scalersconfig.ScalerConfig) (float64, error) {
	t.Helper()
	s, err := scalers.NewMetricsAPIScaler(c, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	values, _, err := s.GetMetricsAndActivity(t.Context(), "s0-metric-api")
	if err != nil {
		return 0, err
	}
	return values[0].Value.AsApproximateFloat64(), nil
}

func TestLintFindsWhereKEDARefusesToAskPrometheus(t *testing.T) {
	t.Parallel()
	good := metadata{
		"serverAddress": "http://prometheus:9090", "threshold": "5", "ignoreNullValues": "false",
		"query": `sum(max by (queue, state) (leadsman_queue_jobs{source="mail",state=~"ready|running"}))`,
	}
	for name, c := range map[string]struct {
		change  metadata
		refused bool
	}{
		"as it should be":       {},
		"no address":            {metadata{"serverAddress": ""}, true},
		"no threshold":          {metadata{"threshold": ""}, true},
		"threshold in words":    {metadata{"threshold": "five"}, true},
		"threshold elsewhere":   {metadata{"threshold": "", "thresholdFromEnv": "T"}, true},
		"activation in words":   {metadata{"activationThreshold": "one"}, true},
		"an exponent":           {metadata{"threshold": "5e1"}, false},
		"no truth":              {metadata{"ignoreNullValues": "no"}, true},
		"a truth by its letter": {metadata{"ignoreNullValues": "f"}, false},
		"no truth of TLS":       {metadata{"unsafeSsl": "yes"}, true},
		"another key":           {metadata{"metricName": "x"}, false},
	} {
		trigger := good.with(c.change)
		s, err := scalers.NewPrometheusScaler(config("prometheus", trigger, nil))
		said := mistakes(t, "prometheus", "", trigger, nil)
		if (err != nil) != c.refused || (len(said) > 0) != c.refused {
			t.Errorf("%s: KEDA has %v, and lint %q, want refused %v", name, err, said, c.refused)
		}
		if err == nil {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A target that is too small for the HPA makes a metric that the API server refuses; KEDA does not say so.
func TestLintFindsTargetsThatBecomeZero(t *testing.T) {
	t.Parallel()
	for text, zero := range map[string]bool{"0.0004": true, "-5": true, "0.001": false, "2.5": false} {
		trigger := metadata{"url": "http://leadsman:8080/api/scaler/mail?target=" + text, "valueLocation": "metricValue", "targetValue": text, "authModes": "bearer"}
		auth := metadata{"token": token}
		s, err := scalers.NewMetricsAPIScaler(config("metrics-api", trigger, auth), nil)
		if err != nil {
			t.Fatal(err)
		}
		target := s.GetMetricSpecForScaling(t.Context())[0].External.Target.AverageValue
		said := mistakes(t, "metrics-api", "", trigger, auth)
		if target.IsZero() != zero || (len(said) > 0) != zero {
			t.Errorf("%s: KEDA makes the target %s, and lint says %q", text, target, said)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
