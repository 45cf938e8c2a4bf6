package manifest

import (
	"strconv"
	"strings"
)

// promQL is the spec's value as Prometheus computes it of leadsman's series. Each replica of leadsman tells of every
// queue, so of their series the greatest counts, and they are not summed. Where nothing is known there is no series,
// and so there is no value: an outage is not an empty queue.
func (s *Spec) promQL() string {
	matchers := `source=` + strconv.Quote(s.Source) + s.queueMatcher()
	switch s.Metric {
	case metricOldest:
		return `max(leadsman_queue_oldest_seconds{` + matchers + `})`
	case metricOutstanding:
		return `sum(max by (queue, state) (leadsman_queue_jobs{` + matchers + `,state=~"ready|running"}))`
	default:
		return `sum(max by (queue) (leadsman_queue_jobs{` + matchers + `,state="` + s.Metric + `"}))`
	}
}

// queueMatcher picks the spec's queues; "" for all.
func (s *Spec) queueMatcher() string {
	if s.Queue == "" {
		return ""
	}
	all, err := patterns(s.Queue)
	if err != nil || everything(all) {
		return "" // the error is impossible: Parse has asked
	}
	if len(all) == 1 && !all[0].glob {
		return `,queue=` + strconv.Quote(all[0].literal)
	}
	regexes := make([]string, len(all))
	for i, p := range all {
		regexes[i] = p.regex
	}
	return `,queue=~` + strconv.Quote(strings.Join(regexes, "|"))
}
