// Package lint finds mistakes in the manifests that put leadsman to work: ScaledObjects, ScaledJobs and
// HorizontalPodAutoscalers, together with the workloads that they scale and the TriggerAuthentications and rules that they
// need, as far as those are at hand.
//
// It looks for what an API server takes and what then scales wrong or not at all: a trigger whose metadata the server
// would refuse, a metric that does not go with the strategy or the metricType, a worker that sleeps until the next poll,
// two autoscalers that pull at one Deployment. Metadata is read by the parser of the server's own RPCs, so that lint and
// server cannot disagree. Whether the YAML is a manifest in every other respect is for kubectl and KEDA's webhook to say.
//
// A trigger may reach leadsman by gRPC (external, external-push), by HTTP (metrics-api), or by way of Prometheus, and so may an
// HPA. Whatever the way, what it asks is read into a Query, and the same is checked of it: a URL by the parser of the server,
// PromQL by the parser of Prometheus, what KEDA makes of the rest as its 2.21 does.
//
// A [Linter] is fed manifests and asked for its findings once all are in, because some mistakes lie between objects. It does
// no I/O and starts no goroutine. "leadsman doctor -f" is its command.
package lint

import (
	"cmp"
	"slices"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/storage/driver"
)

// A Finding is one thing that is to be said of a manifest.
type Finding struct {
	// File is as given to Add; Document counts from 1 within it.
	File     string
	Document int
	// Line of the file, from 1, at which the key is, or what should hold it; 0 where that cannot be told.
	Line int
	// Object is its kind, namespace and name: "ScaledObject team-mail/mailer"; "" where that cannot be read.
	Object string
	// Key is the path of the key within the object, such as spec.triggers[0].metadata.target; "" for the whole.
	Key   string
	Level driver.Level
	// Found says what there is; Remedy what to write instead, "" where nothing needs to be done.
	Found, Remedy string

	refused bool // KEDA takes no such trigger
}

// A Source is what is to be known of a source that the server has configured.
type Source struct {
	Name        string
	NoLookahead bool  // it cannot count jobs that are due soon
	CountLimit  int64 // where its counts stop; 0 is nowhere
	// Queues are the names of those that the source has; nil when they are not known.
	Queues []string
}

// HTTP is what is to be known of how the server serves HTTP.
type HTTP struct {
	Locked bool // who asks needs a token or a certificate
	TLS    bool // plaintext is not spoken
}

// A Linter takes manifests and finds what is wrong with them. The zero Linter does not know the server, takes any name for one
// of a source, and any credential for one that is needed.
type Linter struct {
	// Sources are those that the server has; nil when they are not known.
	Sources []Source
	// HTTP is how the server serves it; nil when that is not known.
	HTTP *HTTP

	// unparsed leaves out what the server would say of a question.
	unparsed bool

	objects  []*object
	findings []Finding
}

// Add takes the manifests of a file. A document that cannot be read becomes a finding.
func (l *Linter) Add(file string, text []byte) {
	for _, document := range kube.Read(text) {
		for _, o := range document.Objects {
			l.objects = append(l.objects, &object{Object: o, file: file})
		}
		if err := document.Err; err != nil {
			l.findings = append(l.findings, Finding{
				File: file, Document: document.Number, Line: err.Line, Level: driver.LevelFail, Found: err.Text,
				Remedy: "correct the document",
			})
		}
	}
}

// Empty tells whether nothing that was taken so far scales anything or is at fault: there is nothing to say of it.
func (l *Linter) Empty() bool {
	return len(l.findings) == 0 && !slices.ContainsFunc(l.objects, func(o *object) bool { return o.scales() })
}

// Findings checks all objects. Each that scales something has one finding at least; the order is that of the documents.
// It may be called once.
func (l *Linter) Findings() []Finding {
	workloads := workloadsOf(l.objects)
	recorded := l.checkRules()
	for _, o := range l.objects {
		if o.scales() {
			o.checkTypes()
		}
		switch {
		case o.Kind == kube.KindScaledObject:
			l.checkScaledObject(o, workloads)
		case o.Kind == kube.KindScaledJob:
			l.checkScaledJob(o)
		case o.isHPA() && !o.kedas():
			l.checkHPA(o, recorded)
		}
	}
	checkRivals(l.objects)
	for _, o := range l.objects {
		if o.scales() && !slices.ContainsFunc(o.findings, func(f Finding) bool { return f.Level != driver.LevelOK }) {
			o.say(driver.LevelOK, "", "nothing is wrong with it", "")
		}
		for _, f := range o.findings {
			f.File, f.Document, f.Object, f.Line = o.file, o.Document, o.Title(), o.Line(f.Key)
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
