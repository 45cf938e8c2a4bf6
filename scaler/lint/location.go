package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// locationValue is where /api/scaler has the value of the metric that was asked for.
const locationValue = "metricValue"

// The keys of the answer of /api/scaler. KEDA takes a number, or a text that is one; for all else it has an error
// (getValueFromJSONResponse of pkg/scalers/metrics_api_scaler.go).
var (
	answerKeys = []string{
		"metricName", locationValue, "isActive", "liveWorkers", "totalCapacity", "targetQueueDepth", "workerUtilization", "perQueue",
	}
	queueKeys = map[string]query.Metric{
		"pending": query.MetricReady, "ready": query.MetricReady, "running": query.MetricRunning,
		"scheduled": query.MetricScheduled, "oldestSeconds": query.MetricOldest, "paused": "",
	}
)

// checkFormat holds the format against what is answered. YAML is a superset of JSON, and KEDA's parser takes it for that.
func (o *object) checkFormat(t *readTrigger) {
	switch format := t.value("format"); format {
	case "", "json", "yaml":
	default:
		o.refuse(t.metadata("format"), strconv.Quote(clip(format))+" is not what "+pathScaler+" answers", "write json, or remove it")
	}
}

// checkLocation looks at which number of the answer KEDA takes, and makes it the query's metric.
func (o *object) checkLocation(t *readTrigger) {
	path, location := t.metadata(keyLocation), t.value(keyLocation)
	wrong := func(found, remedy string) {
		o.refuse(path, found, remedy)
		t.ok = false
	}
	harmful := func(found string) {
		o.fail(path, found, "write "+locationValue)
		t.ok = false
	}
	right := "write " + locationValue
	first, rest, deep := strings.Cut(location, ".")
	switch {
	case location == "":
		wrong("is missing, and KEDA refuses the trigger", right)
	case strings.ContainsAny(location, `|@#*?\`):
		t.ok = false // GJSON's language beyond a path of keys, which may be right
	case first == "perQueue" && deep:
		o.checkQueueLocation(t, rest, wrong)
	case deep || !slices.Contains(answerKeys, location):
		meant := spell.Nearest(location, answerKeys)
		if meant != "" && meant != location {
			right = "write " + meant
		}
		wrong("there is no "+strconv.Quote(clip(location))+" in the answer, which is an error to KEDA", right)
	case location == "workerUtilization":
		t.query.Metric, t.asked = query.MetricUtilization, keyLocation
	case location == "liveWorkers" || location == "totalCapacity":
		harmful("is what workers there are and not what there is to do: replicas would follow themselves")
	case location == "targetQueueDepth":
		harmful("is the target, which does not change")
	case location != locationValue:
		wrong("is no number, which is an error to KEDA", right)
	}
}

// checkQueueLocation looks at perQueue.QUEUE.KEY.
func (o *object) checkQueueLocation(t *readTrigger, rest string, wrong func(found, remedy string)) {
	at := strings.LastIndexByte(rest, '.')
	if at < 0 {
		wrong("perQueue holds objects, which are an error to KEDA", "write perQueue.QUEUE.ready, or "+locationValue)
		return
	}
	queue, key := rest[:at], rest[at+1:]
	metric, ok := queueKeys[key]
	switch {
	case !ok || metric == "":
		wrong("a queue has no number "+strconv.Quote(clip(key)), "write ready, running, scheduled or oldestSeconds")
	case strings.Contains(queue, "."):
		wrong("a dot parts keys, and one in a queue's name needs a backslash", `write it as \.`)
	case t.ok && !t.query.Match(queue):
		wrong("the URL does not ask for queue "+strconv.Quote(clip(queue))+", so the answer does not hold it", "name it in the URL")
	default:
		t.query.Metric, t.asked = metric, keyLocation
		o.note(t.metadata(keyLocation),
			"as long as the source has no trace of the queue, the answer does not hold it, which is an error to KEDA",
			"write "+locationValue+", which is 0 then, and name the queue and metric in the URL")
	}
}
