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
	pathScaler  = "/api/scaler"
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
		o.fail(t.metadata(keyURL), "is no URL", "write http://leadsman-http.leadsman.svc:8080/api/scaler/SOURCE/QUEUE")
		return true
	}
	o.checkURL(t, u)
	o.truth(t, "unsafeSsl", false)
	target := o.checkTarget(t, "targetValue")
	activation := o.checkActivation(t, "activationTargetValue")
	l.checkAuthModes(o, t, u)
	if strings.HasSuffix(u.Path, pathMetrics) {
		l.readSeries(o, t)
	} else {
		l.readURL(o, t, u)
		o.checkFormat(t)
		o.checkLocation(t)
		o.checkShownTarget(t, target)
	}
	l.checkQueues(o, t)
	if t.ok && target > 0 {
		o.tell(t, t.metadata(keyURL), t.query.Describe(), target, activation)
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
	o.ok(path, fmt.Sprintf("KEDA asks for %s, and is active above %s; %s", asked, plainNumber(activation), makes))
}

// ourURL tells whether leadsman answers at a URL.
func ourURL(u *url.URL, location string) bool {
	if _, ok := cutScaler(u); ok || strings.HasPrefix(u.Hostname(), "leadsman") {
		return true
	}
	return strings.HasSuffix(u.Path, pathMetrics) && strings.Contains(location, seriesPrefix)
}

// cutScaler returns what is behind /api/scaler, escaped. Something may stand before it that a proxy takes away.
func cutScaler(u *url.URL) (rest string, ok bool) {
	_, rest, ok = strings.Cut(u.EscapedPath(), pathScaler)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// readURL parses the URL as the server would.
func (l *Linter) readURL(o *object, t *readTrigger, u *url.URL) {
	metadata, fault := metadataOf(u)
	if fault != "" {
		o.fail(t.metadata(keyURL), fault, "write /api/scaler/SOURCE/QUEUE, or /api/scaler?source=SOURCE&queue=QUEUE")
		return
	}
	o.checkIdle(t, metadata)
	t.parse(metadata, l.sources(strings.TrimSpace(metadata["source"])), func(fault *query.Error) {
		found, remedy := split(strings.TrimPrefix(fault.Error(), "metadata key "))
		o.fail(t.metadata(keyURL), found, remedy)
	})
}

// metadataOf makes a trigger's metadata of a URL, as package web does of a request: of /api/scaler/SOURCE/QUEUE, where a
// queue's name may hold slashes, and of the query.
func metadataOf(u *url.URL) (metadata map[string]string, fault string) {
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, "the query string cannot be read: separate parameters by & and escape others"
	}
	delete(parameters, "api_key")
	metadata = map[string]string{}
	for key, values := range parameters {
		if len(values) > 1 {
			return nil, clip(key) + " is given more than once"
		}
		metadata[key] = values[0]
	}
	rest, ok := cutScaler(u)
	if !ok {
		return nil, "there is nothing of leadsman's at " + clip(cmp.Or(u.Path, "/"))
	}
	if rest == "" {
		return metadata, ""
	}
	source, queue, hasQueue := strings.Cut(rest[1:], "/")
	for key, escaped := range map[string]string{"source": source, "queue": queue} {
		if key == "queue" && !hasQueue {
			continue
		}
		if _, twice := metadata[key]; twice {
			return nil, key + " is given in the path and in the query"
		}
		value, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, "the path cannot be read: " + err.Error()
		}
		metadata[key] = value
	}
	return metadata, ""
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
		o.fail(path, "has no scheme and host that KEDA could ask", "write http://leadsman-http.leadsman.svc:8080"+pathScaler)
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
