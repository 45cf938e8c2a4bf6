package lint

import (
	"fmt"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// checkScaledJob looks at a ScaledJob.
func (l *Linter) checkScaledJob(o *object) {
	o.checkKeys()
	o.checkReplicas()
	o.checkPaused()
	if o.Raw["jobTargetRef"] == nil {
		o.fail("spec.jobTargetRef", "is missing", "write the template of the Jobs there")
	}
	triggers := l.readTriggers(o)
	if len(triggers) == 0 {
		return
	}
	for _, t := range triggers {
		if t.Type == typeExternalPush {
			o.warn(t.path+".type", "KEDA only logs what is pushed for a ScaledJob: Jobs start at the next poll", "write type: external")
		}
		if t.ok {
			o.checkStrategy(t)
			if t.asked == "" && !t.has("target") && !t.has("targetQueueDepth") {
				o.warn(t.metadata("target"), "is missing and 10 by default: one Job starts for each ten jobs of the queue",
					`write target: "1" where a Job takes one job of the queue, or how many it takes`)
			}
		}
	}
	if o.polling() > shortPoll {
		o.noteJobPoll()
	}
	if o.Spec.Rollout.Strategy != "gradual" && o.Spec.RolloutStrategy != "gradual" {
		o.warn("spec.rollout.strategy", "is immediate, by default: a change of the ScaledJob ends the Jobs that run",
			"write rollout: {strategy: gradual}")
	}
}

// shortPoll is a pollingInterval, in seconds, of which nothing needs to be said.
const shortPoll = 10

// noteJobPoll says when Jobs start.
func (o *object) noteJobPoll() {
	remedy := ""
	if o.polling() > shortPoll {
		remedy = "write pollingInterval: 5: leadsman answers from memory, and the database is not asked more often"
	}
	o.note("spec.pollingInterval", "a job waits for the next poll, up to "+o.polled(), remedy)
}

// The strategies of a ScaledJob, by what they take off the value: default the Jobs that run, accurate and eager no more than
// those that have not begun.
const (
	strategyDefault  = "default"
	strategyAccurate = "accurate"
	strategyEager    = "eager"
	strategyCustom   = "custom"
)

// checkStrategy holds the metric against the strategy.
func (o *object) checkStrategy(t *readTrigger) {
	path, metric := t.at("metric"), t.query.Metric
	switch metric {
	case query.MetricReady, query.MetricOutstanding:
	case query.MetricScheduled:
		o.warn(path, "scheduled jobs are not due: a Job that starts for one finds nothing to do",
			t.write(query.MetricReady)+"; lookahead starts Jobs before a job is due")
		return
	default:
		o.fail(path, fmt.Sprintf("%s is no number of jobs that wait, and a ScaledJob starts a Job for each target of the value", metric),
			t.write(query.MetricOutstanding)+", or ready with strategy accurate")
		return
	}
	switch strategy := o.Spec.ScalingStrategy.Strategy; {
	case strategy == strategyCustom:
	case (strategy == "" || strategy == strategyDefault) && metric == query.MetricReady:
		o.fail(path, "is ready, and the strategy default takes the running Jobs off it: while some run, too few start",
			t.write(query.MetricOutstanding)+", or scalingStrategy: {strategy: accurate}")
	case (strategy == strategyAccurate || strategy == strategyEager) && metric == query.MetricOutstanding:
		o.fail(path, "is outstanding, and the strategy "+strategy+" does not take the running Jobs off it: "+
			"for each job that runs, another Job starts", t.write(query.MetricReady)+", or scalingStrategy: {strategy: default}")
	case strategy != "" && strategy != strategyDefault && strategy != strategyAccurate && strategy != strategyEager:
		o.fail("spec.scalingStrategy.strategy", "is none that KEDA knows", "write default, accurate, eager or custom")
	}
}
