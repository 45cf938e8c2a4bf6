package lint

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// Where leadsman answers over HTTP, and the keys that say what it is asked.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	pathScaler  = query.PathScaler
	pathMetrics = "/metrics"

	keyURL      = "url"
	keyLocation = "valueLocation"
	keyQuery    = "query"
)

// readMetricsAPI reads a metrics-api trigger whose URL is leadsman's: the path /api/scaler, or /metrics with one of its
// series. KEDA asks by GET and takes one number of the answer; it is active while that is above activationTargetValue, and has
// no use for what leadsman thinks of activity (GetMetricsAndActivity of pkg/scalers/metrics_api_scaler.go in KEDA 2.21).
func (l *Linter) readMetricsAPI(o *object, t *readTrigger) bool {
	text, _ := t.Metadata[keyURL].(string)
	location, _ := t.Metadata[keyLocation].(string)
	u, err := url.Parse(strings.TrimSpace(text))
	if err == nil && u.Opaque != "" { // host:port for a scheme
		u, err = url.Parse("//" + strings.TrimSpace(text))
	}
	switch {
	case err != nil && !strings.Contains(text, pathScaler), err == nil && !ourURL(u, location):
		return false
	}
	t.given, t.asked = o.texts(t), keyURL
	o.checkParameters(t, metricsAPIKeys)
	if err != nil {
		o.refuse(t.metadata(keyURL), "is no URL", "write http://leadsman-http.leadsman.svc:8080/api/scaler/SOURCE/QUEUE")
		return true
	}
	o.checkURL(t, u)
	o.truth(t, "unsafeSsl", false)
	target := o.checkTarget(t, "targetValue")
	activation := o.checkActivation(t, "activationTargetValue")
	l.checkAuthModes(o, t, u)
	var asked string
	if strings.HasSuffix(u.Path, pathMetrics) {
		asked = l.readSeries(o, t)
	} else {
		t.url = u
		l.readURL(o, t, u)
		o.checkFormat(t)
		o.checkLocation(t)
		o.checkShownTarget(t, target)
		asked = t.query.Describe()
	}
	l.checkQueues(o, t)
	if t.ok && target > 0 {
		o.tell(t, t.metadata(keyURL), asked, target, activation)
	}
	return true
}

// tell says what KEDA is told, and what it makes of it.
func (o *object) tell(t *readTrigger, path, asked string, target, activation float64) {
	makes := fmt.Sprintf("%s over %s is the number of replicas", t.query.Metric, plainNumber(target))
	switch {
	case o.Kind == kube.KindScaledJob:
		makes = fmt.Sprintf("%s over %s is the number of Jobs", t.query.Metric, plainNumber(target))
	case t.MetricType == metricTypeValue:
		makes = fmt.Sprintf("the HPA multiplies the replicas by %s over %s", t.query.Metric, plainNumber(target))
	}
	t.asks = fmt.Sprintf("KEDA asks for %s, and is active above %s; %s", asked, plainNumber(activation), makes)
	o.ok(path, t.asks)
}

// ourURL tells whether leadsman answers at a URL.
func ourURL(u *url.URL, location string) bool {
	if query.AtScaler(u) || strings.HasPrefix(u.Hostname(), "leadsman") {
		return true
	}
	return strings.HasSuffix(u.Path, pathMetrics) && strings.Contains(location, seriesPrefix)
}

// readURL parses the URL as the server would.
func (l *Linter) readURL(o *object, t *readTrigger, u *url.URL) {
	metadata, err := query.FromURL(u)
	if err != nil {
		found, remedy := split(err.Error())
		o.refuse(t.metadata(keyURL), found, cmp.Or(remedy, "write /api/scaler/SOURCE/QUEUE, or /api/scaler?source=SOURCE&queue=QUEUE"))
		return
	}
	o.checkIdle(t, metadata)
	t.parse(metadata, l.sources(strings.TrimSpace(metadata["source"])), func(fault *query.Error) {
		if l.unparsed {
			return
		}
		found, remedy := split(strings.TrimPrefix(fault.Error(), "metadata key "))
		o.fail(t.metadata(keyURL), found, remedy)
	})
}

// checkIdle finds parameters that change isActive alone.
func (o *object) checkIdle(t *readTrigger, metadata map[string]string) {
	for _, key := range []string{"activation", "activationQueueDepth", "activeWhileRunning", "linger"} {
		if _, ok := metadata[key]; !ok {
			continue
		}
		remedy := "leave it out"
		if strings.HasPrefix(key, "activation") {
			remedy = "write activationTargetValue"
		}
		o.warn(t.metadata(keyURL),
			key+" is for isActive, which KEDA does not read: it is active while the value is above activationTargetValue",
			remedy)
	}
}

// checkShownTarget compares the two targets. KEDA divides by its own.
func (o *object) checkShownTarget(t *readTrigger, target float64) {
	if t.ok && target > 0 && t.value(keyLocation) == locationValue && t.query.Target != target {
		o.note(t.metadata(keyURL), fmt.Sprintf(
			"its target is %s and targetValue is %s, so that leadsman's page shows other replicas than KEDA makes",
			plainNumber(t.query.Target), plainNumber(target)), "write target="+plainNumber(target)+" into it")
	}
}

// checkURL looks at what is not in the question.
func (o *object) checkURL(t *readTrigger, u *url.URL) {
	path := t.metadata(keyURL)
	if u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS || u.Host == "" {
		o.refuse(path, "has no scheme and host that KEDA could ask", "write http://leadsman-http.leadsman.svc:8080"+pathScaler)
	}
	if u.User != nil {
		o.fail(path, "has a user, and leadsman takes no passwords", "leave it out; write authModes: bearer")
	}
	parameters, _ := url.ParseQuery(u.RawQuery)
	if parameters.Has("token") || parameters.Has("api_key") {
		o.warn(path, "whoever may read the "+o.Kind+" reads the token in it",
			"put it into a Secret, and write authModes: bearer and a TriggerAuthentication with the parameter token")
	}
	if !o.truth(t, "aggregateFromKubeServiceEndpoints", false) {
		return
	}
	// KEDA asks each pod at the path alone (getEndpointsUrlsFromServiceURL).
	if u.RawQuery != "" {
		o.fail(path, "KEDA leaves out what is behind the ? where aggregateFromKubeServiceEndpoints is set",
			"write source and queue into the path: "+pathScaler+"/SOURCE/QUEUE")
	}
	if t.value("aggregationType") == "sum" {
		o.fail(t.metadata("aggregationType"), "is sum, and each replica of leadsman tells of all jobs", "write max")
	}
}

// plainNumber writes a number as people do.
func plainNumber(n float64) string { return fmt.Sprintf("%.10g", n) }
