// Package lint finds mistakes in the manifests that put leadsman to work: ScaledObjects, ScaledJobs and
// HorizontalPodAutoscalers, together with the workloads that they scale, as far as those are at hand.
//
// It looks for what an API server takes and what then scales wrong or not at all: a trigger whose metadata the server
// would refuse, a metric that does not go with the strategy or the metricType, a worker that sleeps until the next poll,
// two autoscalers that pull at one Deployment. Metadata is read by the parser of the server's own RPCs, so that lint and
// server cannot disagree. Whether the YAML is a manifest in every other respect is for kubectl and KEDA's webhook to say.
//
// A [Linter] is fed objects as JSON and asked for its findings once all are in, because some mistakes lie between
// objects. It does no I/O and starts no goroutine. "leadsman doctor -f" is its command.
package lint

import (
	"cmp"
	"slices"

	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/storage/driver"
)

// A Finding is one thing that is to be said of a manifest.
type Finding struct {
	// File is as given to Add; Document counts from 1 within it.
	File     string
	Document int
	// Object is its kind, namespace and name: "ScaledObject team-mail/mailer"; "" where that cannot be read.
	Object string
	// Key is the path of the key within the object, such as spec.triggers[0].metadata.target; "" for the whole.
	Key   string
	Level driver.Level
	// Found says what there is; Remedy what to write instead, "" where nothing needs to be done.
	Found, Remedy string
}

// A Source is what is to be known of a source that the server has configured.
type Source struct {
	Name        string
	NoLookahead bool  // it cannot count jobs that are due soon
	CountLimit  int64 // where its counts stop; 0 is nowhere
}

// A Linter takes objects and finds what is wrong with them. The zero Linter does not know the server's sources, and takes
// any name for one.
type Linter struct {
	// Sources are those that the server has; nil when they are not known.
	Sources []Source

	objects  []*object
	findings []Finding
}

// Add takes one object of one document, or a List of them, as JSON. What cannot be read becomes a finding.
func (l *Linter) Add(file string, document int, data []byte) {
	objects, err := decode(data)
	if err != nil {
		l.Fault(file, document, err)
	}
	for _, o := range objects {
		o.file, o.document = file, document
		l.objects = append(l.objects, o)
	}
}

// Fault takes a document that is no object at all.
func (l *Linter) Fault(file string, document int, err error) {
	l.findings = append(l.findings, Finding{
		File: file, Document: document, Level: driver.LevelFail, Found: err.Error(), Remedy: "correct the document",
	})
}

// Empty tells whether nothing that was taken so far scales anything or is at fault: there is nothing to say of it.
func (l *Linter) Empty() bool {
	return len(l.findings) == 0 && !slices.ContainsFunc(l.objects, func(o *object) bool { return o.scales() })
}

// Findings checks all objects. Each that scales something has one finding at least; the order is that of the documents.
// It may be called once.
func (l *Linter) Findings() []Finding {
	workloads := workloadsOf(l.objects)
	for _, o := range l.objects {
		switch {
		case o.Kind == kindScaledObject:
			l.checkScaledObject(o, workloads)
		case o.Kind == kindScaledJob:
			l.checkScaledJob(o)
		case o.isHPA():
			checkHPA(o)
		}
	}
	checkRivals(l.objects)
	for _, o := range l.objects {
		if o.scales() && len(o.findings) == 0 {
			o.say(driver.LevelOK, "", "nothing is wrong with it", "")
		}
		for _, f := range o.findings {
			f.File, f.Document, f.Object = o.file, o.document, o.title()
			l.findings = append(l.findings, f)
		}
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		if a.File != b.File {
			return 0 // in the order in which they were given
		}
		return cmp.Compare(a.Document, b.Document)
	})
	return l.findings
}

// sources are those that a trigger may name. Where the server's are not known, the named one is taken for there.
func (l *Linter) sources(named string) []query.Source {
	if l.Sources == nil {
		return []query.Source{{Name: named}}
	}
	out := make([]query.Source, len(l.Sources))
	for i, s := range l.Sources {
		out[i] = query.Source{Name: s.Name, NoLookahead: s.NoLookahead, CountLimit: s.CountLimit}
	}
	return out
}
