package query

import (
	"slices"
	"strconv"
	"strings"
)

// Parse reads a trigger's metadata; a nil map is an empty one. sources are those that the caller may see: with
// exactly one of them the key "source" may be left out. Parse does no I/O and returns equal results for equal
// arguments.
//
// An error is an *Error, or several of them under one error, in the order of the documented keys and after them
// the unknown ones by name. Each says what is wrong with which key and what would be right; none shows a secret.
func Parse(metadata map[string]string, sources []Source) (Query, error) {
	var p parser
	for spelled, value := range metadata {
		p.take(spelled, value)
	}
	source := p.source(sources)
	most, _ := p.number(keyMax)
	q := Query{
		Source:             source.Name,
		Queues:             p.queues(),
		Metric:             p.metric(),
		Target:             p.either(keyTarget, keyTargetQueueDepth, defaultTarget),
		Activation:         p.either(keyActivation, keyActivationQueueDepth, 0),
		ActiveWhileRunning: p.boolean(keyActiveWhileRunning, true),
		Linger:             p.duration(keyLinger),
		Lookahead:          p.lookahead(source),
		Max:                most,
		Name:               p.name(),
	}
	if limit := source.CountLimit; limit > 0 && q.Activation >= float64(limit) {
		p.reject(keyActivation, "must be less than the source's countLimit, "+strconv.FormatInt(limit, 10)+
			", at which counting stops; raise that on the server, or lower the activation")
	}
	if err := p.err(); err != nil {
		return Query{}, err
	}
	if q.Name == "" {
		q.Name = metricName(q.Source, q.Queues, q.Metric)
	}
	return q, nil
}

const defaultTarget = 10

// suffixFromEnv is left on a key whose value KEDA has taken from the workload's environment.
const suffixFromEnv = "FromEnv"

// A key is one of the documented keys, in the order in which their faults are reported.
type key int

const (
	keySource key = iota
	keyQueue
	keyMetric
	keyTarget
	keyTargetQueueDepth // a synonym of target
	keyActivation
	keyActivationQueueDepth // a synonym of activation
	keyActiveWhileRunning
	keyLinger
	keyLookahead
	keyMax
	keyName
	keyCount
)

// keys says how each key is spelled and what a value of it must be, to follow "give ".
var keys = [keyCount]struct{ name, want string }{
	keySource:               {"source", "the name of a configured source"},
	keyQueue:                {"queue", "a queue name, a comma-separated list, or globs such as mail-*, or remove the key for all queues"},
	keyMetric:               {"metric", "one of ready, running, outstanding, scheduled, oldest, utilization"},
	keyTarget:               {"target", "a decimal number from 0.001 to 9e15, such as 10"},
	keyTargetQueueDepth:     {"targetQueueDepth", "a decimal number from 0.001 to 9e15, such as 10"},
	keyActivation:           {"activation", "a decimal number from 0 to 9e15, such as 5"},
	keyActivationQueueDepth: {"activationQueueDepth", "a decimal number from 0 to 9e15, such as 5"},
	keyActiveWhileRunning:   {"activeWhileRunning", "true or false"},
	keyLinger:               {"linger", "a duration from 0s to 24h, such as 90s or 5m, or a number of seconds"},
	keyLookahead:            {"lookahead", "a duration from 0s to 24h, such as 90s or 5m, or a number of seconds"},
	keyMax:                  {"max", "a decimal number from 0.001 to 9e15, such as 1000, or remove the key for no cap"},
	keyName:                 {"name", "at most 63 lower-case letters, digits and inner dashes, or remove the key for a derived name"},
}

// ignored are keys that may be there and mean nothing to a Query: the token, which is checked before, and KEDA's own.
var ignored = [...]string{
	"token", "scalerAddress", "enableTLS", "unsafeSsl", "caCert", "tlsCertFile", "tlsClientCert", "tlsClientKey",
}

// A parser holds the metadata by key and the faults found so far.
type parser struct {
	given  [keyCount]entry
	faults [keyCount]*Error
	strays []string // keys that are none of ours, as spelled
}

// An entry is one key of the metadata.
type entry struct {
	spelled string // the key as it stands in the metadata; "" when it does not
	value   string
}

// take puts one entry of the metadata in its place. The entries come in any order.
func (p *parser) take(spelled, value string) {
	name, fromEnv := strings.CutSuffix(spelled, suffixFromEnv)
	for k := range keys {
		if keys[k].name != name {
			continue
		}
		if !fromEnv || p.given[k].spelled == "" {
			p.given[k] = entry{spelled, value}
		}
		return
	}
	if !slices.Contains(ignored[:], name) {
		p.strays = append(p.strays, spelled)
	}
}

// get returns the trimmed value of k and true, or false when k is absent or, which is a fault, empty.
func (p *parser) get(k key) (string, bool) {
	if p.given[k].spelled == "" {
		return "", false
	}
	given := p.given[k].value
	value := strings.Trim(given, whiteSpace)
	if value == "" {
		p.fault(k, "is empty")
		return "", false
	}
	if len(value) < len(given)/2 {
		value = strings.Clone(value) // it is remembered, and a hundred kilobytes of spaces around it need not be
	}
	return value, true
}

// whiteSpace is trimmed around values and between queues. Wider spaces of Unicode may belong to a queue's name.
const whiteSpace = " \t\r\n"

func (p *parser) source(sources []Source) Source {
	name, ok := p.get(keySource)
	if !ok {
		if p.given[keySource].spelled == "" {
			return p.onlySource(sources)
		}
		return Source{}
	}
	for _, s := range sources {
		if s.Name == name {
			return s
		}
	}
	p.reject(keySource, quote(name)+" is no source that this caller may read; "+knownSources(name, sources))
	return Source{}
}

// onlySource is what an absent key "source" means.
func (p *parser) onlySource(sources []Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	if len(sources) == 0 {
		p.reject(keySource, knownSources("", sources))
	} else {
		p.reject(keySource, "is missing and there are several sources, so name one; "+knownSources("", sources))
	}
	return Source{}
}

func (p *parser) queues() string {
	list, ok := p.get(keyQueue)
	if !ok {
		return ""
	}
	queues, fault := canonical(list)
	if fault != "" {
		p.fault(keyQueue, fault)
	}
	return queues
}

func (p *parser) metric() Metric {
	value, ok := p.get(keyMetric)
	if !ok {
		return MetricOutstanding
	}
	switch m := Metric(value); m {
	case MetricReady, MetricRunning, MetricOutstanding, MetricScheduled, MetricOldest, MetricUtilization:
		return m
	}
	p.fault(keyMetric, quote(value)+" is no metric")
	return ""
}

func (p *parser) name() string {
	name, ok := p.get(keyName)
	if ok && !validName(name) {
		p.fault(keyName, quote(name)+" is no metric name")
	}
	return name
}
