package lint

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// Names of series, and labels.
const (
	seriesPrefix = "leadsman_"
	seriesJobs   = "leadsman_queue_jobs"
	seriesOldest = "leadsman_queue_oldest_seconds"
	seriesSlots  = "leadsman_worker_slots"

	labelSource = "source"
	labelQueue  = "queue"
	labelState  = "state"
	labelRoute  = "route"
	labelBound  = "le" // of a histogram's bucket
)

// series are those that leadsman has, with their labels; a test holds them against a scrape. Histograms have their names with
// _bucket, _sum and _count besides.
var series = map[string][]string{
	seriesJobs:                    {labelSource, labelQueue, labelState},
	seriesOldest:                  {labelSource, labelQueue},
	seriesSlots:                   {labelSource, labelQueue, labelState},
	"leadsman_queue_paused":       {labelSource, labelQueue},
	"leadsman_queue_saturated":    {labelSource, labelQueue},
	"leadsman_workers":            {labelSource, labelQueue},
	"leadsman_source_up":          {labelSource},
	"leadsman_sample_age_seconds": {labelSource},
	"leadsman_sample_errors_total": {
		labelSource, "kind",
	},
	"leadsman_streams":                              {labelSource},
	"leadsman_streams_waiting":                      {labelSource},
	"leadsman_push_mode":                            {labelSource, "mode"},
	"leadsman_queues_left_out":                      {labelSource, "reason"},
	"leadsman_triggers":                             {},
	"leadsman_wakes_total":                          {labelSource},
	"leadsman_signals_total":                        {labelSource},
	"leadsman_wake_latency_seconds_bucket":          {labelSource, labelBound},
	"leadsman_wake_latency_seconds_sum":             {labelSource},
	"leadsman_wake_latency_seconds_count":           {labelSource},
	"leadsman_sample_duration_seconds_bucket":       {labelSource, labelBound},
	"leadsman_sample_duration_seconds_sum":          {labelSource},
	"leadsman_sample_duration_seconds_count":        {labelSource},
	"leadsman_http_requests_total":                  {labelRoute, "code"},
	"leadsman_http_request_duration_seconds_bucket": {labelRoute, labelBound},
	"leadsman_http_request_duration_seconds_sum":    {labelRoute},
	"leadsman_http_request_duration_seconds_count":  {labelRoute},
}

// states are what the label state may be.
var states = map[string][]string{
	seriesJobs:  {string(query.MetricReady), string(query.MetricRunning), string(query.MetricScheduled)},
	seriesSlots: {"busy", "idle"},
}

// A selector is what picks series of one name.
type selector struct {
	name     string
	matchers []*labels.Matcher
}

func newSelector(matchers []*labels.Matcher) selector {
	s := selector{matchers: matchers}
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			s.name = m.Value
		}
	}
	return s
}

// on are the matchers of a label.
func (s *selector) on(label string) []*labels.Matcher {
	var all []*labels.Matcher
	for _, m := range s.matchers {
		if m.Name == label {
			all = append(all, m)
		}
	}
	return all
}

// picks returns the values that a selector picks of a label's.
func (s *selector) picks(label string, values []string) []string {
	var all []string
	for _, value := range values {
		if !slices.ContainsFunc(s.on(label), func(m *labels.Matcher) bool { return !m.Matches(value) }) {
			all = append(all, value)
		}
	}
	return all
}

// checkSelector holds a selector against the series that there are. It returns false where it can pick none.
func (l *Linter) checkSelector(o *object, path string, s selector) bool {
	own, ok := series[s.name]
	if !ok {
		remedy := "write " + seriesJobs + " or " + seriesOldest
		if meant := spell.Nearest(s.name, slices.Sorted(maps.Keys(series))); meant != "" {
			remedy = "write " + meant
		}
		o.fail(path, "there is no series "+clip(s.name), remedy)
		return false
	}
	ok = o.checkLabels(path, s, own)
	if values := states[s.name]; values != nil {
		ok = o.checkValues(path, s, labelState, values) && ok
	}
	if slices.Contains(own, labelSource) && l.Sources != nil {
		var sources []string
		for _, source := range l.Sources {
			sources = append(sources, source.Name)
		}
		ok = o.checkValues(path, s, labelSource, sources) && ok
	}
	if ok && slices.Contains(own, labelQueue) {
		l.checkQueueLabel(o, path, s)
	}
	return ok
}

// checkLabels finds labels that a series does not have. Prometheus adds others to each target, so that only what is one of
// another series, or nearly one of this, is known to be wrong.
func (o *object) checkLabels(path string, s selector, own []string) bool {
	ok := true
	for _, m := range s.matchers {
		if m.Name == model.MetricNameLabel || slices.Contains(own, m.Name) || m.Matches("") {
			continue
		}
		meant := spell.Nearest(m.Name, own)
		if meant == "" && m.Name != labelSource && m.Name != labelQueue && m.Name != labelState {
			continue
		}
		remedy := "leave it out"
		if meant != "" {
			remedy = "write " + meant
		}
		o.fail(path, s.name+" has no label "+clip(m.Name)+", so nothing is picked", remedy)
		ok = false
	}
	return ok
}

// checkValues finds values of a label that there are none of, each literal of a regular expression by itself.
func (o *object) checkValues(path string, s selector, label string, values []string) bool {
	for _, m := range s.on(label) {
		for _, literal := range literals(m) {
			if slices.Contains(values, literal) {
				continue
			}
			remedy := "known are " + strings.Join(values, ", ")
			if meant := spell.Nearest(literal, values); meant != "" {
				remedy = "write " + meant
			}
			o.fail(path, "there is no "+label+" "+strconv.Quote(clip(literal)), remedy)
			return false
		}
	}
	if len(s.picks(label, values)) == 0 {
		o.fail(path, "of "+label+", nothing is picked", "known are "+strings.Join(values, ", "))
		return false
	}
	return true
}

// literals are the values that a matcher lets through, where it names them.
func literals(m *labels.Matcher) []string {
	switch m.Type {
	case labels.MatchEqual:
		return []string{m.Value}
	case labels.MatchRegexp:
		return m.SetMatches()
	default:
		return nil
	}
}

// checkQueueLabel finds queues that none of the sources has, where their queues are known.
func (l *Linter) checkQueueLabel(o *object, path string, s selector) {
	var queues []string
	for _, source := range l.Sources {
		if len(s.picks(labelSource, []string{source.Name})) == 0 {
			continue
		}
		if source.Queues == nil {
			return
		}
		queues = append(queues, source.Queues...)
	}
	if l.Sources == nil {
		return
	}
	missing := false
	for _, m := range s.on(labelQueue) {
		for _, literal := range literals(m) {
			if !slices.Contains(queues, literal) {
				o.unknownQueue(path, literal, queues)
				missing = true
			}
		}
	}
	if !missing && len(s.picks(labelQueue, queues)) == 0 {
		o.warn(path, "the source has no queue that is picked, so there is no value", knownQueues(queues))
	}
}

// equality is a matcher of an HPA's selector.
func equality(label, value string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, label, value) // it fails for a regular expression only
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
