package lint

import (
	"fmt"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/storage/driver"
)

// What KEDA does where a ScaledObject says nothing.
const (
	defaultPolling = 30 // seconds
	defaultMax     = 100
)

// checkScaledObject looks at a ScaledObject and, where it is among the documents, at what it scales.
func (l *Linter) checkScaledObject(o *object, workloads map[workloadName]*object) {
	o.checkKeys()
	if o.Spec.ScaleTargetRef.Name == "" {
		o.fail("spec.scaleTargetRef.name", "is missing", "name the workload that is to be scaled")
	}
	o.checkReplicas()
	o.checkPaused()
	triggers := l.readTriggers(o)
	if len(triggers) == 0 {
		return
	}
	for _, t := range triggers {
		o.checkObjectTrigger(t)
	}
	o.checkSleep(triggers)
	o.checkFallback(triggers)
	if w := workloads[nameOfTarget(o)]; w != nil {
		o.checkWorkload(w)
	}
}

// checkFallback looks for what is to hold while the source cannot be read. Where every metricType is Value it needs KEDA
// 2.18 and a replica that is ready, so it is only worth a note there.
func (o *object) checkFallback(triggers []*readTrigger) {
	if o.Spec.Fallback != nil {
		return
	}
	level := driver.LevelNote
	for _, t := range triggers {
		if t.MetricType != metricTypeValue {
			level = driver.LevelWarn
		}
	}
	o.say(level, "spec.fallback", "is missing: while leadsman cannot read the source, the replicas stay as they are, at zero too",
		"add fallback: {failureThreshold: 3, replicas: 1}, with as many replicas as should work then")
}

// polling is how often KEDA asks, in seconds.
func (o *object) polling() int32 {
	if p := value(o.Spec.PollingInterval, defaultPolling); p > 0 {
		return p
	}
	return defaultPolling // it is at fault, and has its finding
}

// polled says how often that is, and what decides it.
func (o *object) polled() string {
	if o.Spec.PollingInterval == nil {
		return fmt.Sprintf("%d s (pollingInterval, by default)", o.polling())
	}
	return fmt.Sprintf("%d s (pollingInterval)", o.polling())
}

// sleeps tells whether the object goes to zero replicas.
func (o *object) sleeps() bool {
	idle := o.Spec.IdleReplicaCount
	return value(o.Spec.MinReplicaCount, 0) == 0 || idle != nil && *idle == 0
}

func value(v *int32, byDefault int32) int32 {
	if v == nil {
		return byDefault
	}
	return *v
}

// counted is a number of things.
func counted(n int32, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// checkReplicas looks at the bounds.
func (o *object) checkReplicas() {
	least, most := value(o.Spec.MinReplicaCount, 0), value(o.Spec.MaxReplicaCount, defaultMax)
	if least > most {
		o.fail("spec.minReplicaCount", fmt.Sprintf("%d is more than maxReplicaCount, %d, and KEDA refuses it", least, most),
			"raise maxReplicaCount")
	}
	if o.Kind != kube.KindScaledObject {
		return
	}
	switch idle := o.Spec.IdleReplicaCount; {
	case idle != nil && *idle >= least:
		o.fail("spec.idleReplicaCount", fmt.Sprintf("%d is not less than minReplicaCount, %d, and KEDA refuses it", *idle, least),
			"remove it: minReplicaCount: 0 alone goes to zero")
	case idle != nil && *idle > 0:
		o.warn("spec.idleReplicaCount", "is more than 0, which KEDA does not support: an HPA does not go below minReplicaCount", "write 0")
	case idle == nil && least > 0:
		o.note("spec.minReplicaCount", fmt.Sprintf("%s when there is nothing to do", counted(least, "replica stays", "replicas stay")),
			fmt.Sprintf("to go to zero and wake to %d in one step, add idleReplicaCount: 0", least))
	}
}

// checkPaused looks for annotations that stop all scaling, left behind from a maintenance.
func (o *object) checkPaused() {
	for _, name := range []string{"autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"} {
		if v, ok := o.Metadata.Annotations[name]; ok && v != "false" {
			o.warn("metadata.annotations["+name+"]", "the "+o.Kind+" is paused: nothing scales", "remove the annotation")
		}
	}
}

// checkObjectTrigger looks at a trigger by which an HPA scales.
func (o *object) checkObjectTrigger(t *readTrigger) {
	if !t.ok {
		return
	}
	averaged := t.MetricType == "" || t.MetricType == metricTypeAverage
	switch m := t.query.Metric; {
	case (m == query.MetricOldest || m == query.MetricUtilization) && averaged:
		o.fail(t.path+".metricType", fmt.Sprintf("is AverageValue, and the HPA would take %s for a sum that replicas share: "+
			"one more replica does not halve it", m),
			"write metricType: Value")
	case m != query.MetricOldest && m != query.MetricUtilization && t.MetricType == metricTypeValue:
		o.fail(t.path+".metricType",
			fmt.Sprintf("is Value, and the HPA would multiply the replicas by %s over target each time it looks", m),
			"write metricType: AverageValue, or remove it")
	case m == query.MetricReady:
		o.warn(t.at("metric"), "ready does not count running jobs: when the queue is empty, replicas are removed while they work",
			t.write(query.MetricOutstanding)+", unless jobs survive being stopped")
	}
	// Over HTTP and Prometheus, KEDA takes activity from the value.
	if o.sleeps() && !t.query.ActiveWhileRunning && t.asked == "" && !t.has("activeWhileRunningFromEnv") {
		o.warn(t.metadata("activeWhileRunning"),
			"running jobs do not keep the workload: after the cooldownPeriod it goes to zero while they run",
			"remove the key, unless jobs survive being stopped")
	}
}

// checkSleep looks at how the workload falls asleep and how it wakes.
func (o *object) checkSleep(triggers []*readTrigger) {
	pushed := false
	for _, t := range triggers {
		pushed = pushed || t.Type == typeExternalPush
	}
	const least = 30 // seconds of cooldown
	switch cooldown := o.Spec.CooldownPeriod; {
	case !o.sleeps():
		return
	case cooldown != nil && *cooldown < least:
		o.warn("spec.cooldownPeriod",
			fmt.Sprintf("after %d s without a job the last replica ends, and the next job waits for a pod to start", *cooldown),
			"leave it at 300, or set it to more than a pod takes to start")
	}
	switch first := triggers[0]; {
	case !pushed && first.Type == typeExternal:
		o.warn(first.path+".type", "is external: at zero replicas a job waits for the next poll, up to "+o.polled(),
			"write type: external-push, which wakes at once")
	case !pushed:
		o.notePoll(first)
	case o.polling() < 10:
		o.note("spec.pollingInterval",
			fmt.Sprintf("external-push wakes without it, and a poll each %d s only costs KEDA's operator", o.polling()),
			"leave it at 30")
	}
}

// notePoll says how a workload wakes that nothing is pushed to.
func (o *object) notePoll(t *readTrigger) {
	o.note(t.path+".type", "is "+t.Type+": at zero replicas a job waits for the next poll, up to "+o.polled(),
		"where that is too long, use a trigger of type external-push, which wakes at once")
}
