// Package storage holds the concrete type that the scaler works with: a [Source], one named place where jobs
// wait. A Source wraps an engine (a driver.Reader) and is the one place where what the engine says is checked
// and where its errors get the source's name and lose their secrets.
//
// The scaler holds Sources and samples them; it never sees an engine. A program that embeds leadsman makes a
// Source from a Reader of its own with [New].
package storage

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// A Source is a named connection and the preset by which it is read. Its methods may be called from several
// goroutines. It starts no goroutine of its own.
type Source struct {
	name    string
	reader  driver.Reader
	watcher driver.Watcher // nil when the engine has none
	traits  Traits
	secrets func() []string // nil when there are none
}

// Traits is what is known of a source without asking it.
type Traits struct {
	Engine string // "postgres", "sqlite", "memory", …; shown to people
	Preset string // shown to people
	// NoLookahead is set when the source cannot count jobs that are due soon.
	NoLookahead bool
	// Location is where the source is, without credentials: host, port, database, or file.
	Location string
}

// An Option changes how New makes a Source.
type Option func(*Source)

// WithTraits says what is known of the source beforehand.
func WithTraits(t Traits) Option { return func(s *Source) { s.traits = t } }

// WithSecrets gives the strings that must not appear in any error of the source, such as its password. It is
// called for each error, because passwords rotate.
func WithSecrets(secrets func() []string) Option { return func(s *Source) { s.secrets = secrets } }

// New makes a Source of an engine. The name is what ScaledObjects put into their trigger's metadata: lower-case
// letters, digits and inner dashes, at most 63 characters. The Source owns reader and closes it.
func New(name string, reader driver.Reader, opts ...Option) (*Source, error) {
	if !ValidName(name) {
		return nil, fmt.Errorf("source name %q: use lower-case letters, digits and inner dashes, at most 63 characters", name)
	}
	if reader == nil {
		return nil, fmt.Errorf("source %q: reader is nil", name)
	}
	s := &Source{name: name, reader: reader}
	s.watcher, _ = reader.(driver.Watcher)
	for _, opt := range opts {
		opt(s)
	}
	return s, nil
}

// ValidName tells whether New takes the name.
func ValidName(name string) bool { return nameForm.MatchString(name) }

// Name returns the source's name.
func (s *Source) Name() string { return s.name }

// Traits returns what is known of the source without asking it.
func (s *Source) Traits() Traits { return s.traits }

// A Sample is a Reading with the local times that its age is told by.
type Sample struct {
	driver.Reading

	// Started is the local time just before the read: everything that had been committed by then is seen.
	Started time.Time
	// Took is how long the read lasted.
	Took time.Duration
}

// Read samples the source. Every error is an *Error, and so are those of the Sample's Failed.
func (s *Source) Read(ctx context.Context, req driver.Request) (Sample, error) {
	started := time.Now()
	reading, err := s.reader.Read(ctx, req)
	if err == nil {
		err = check(req, reading)
	}
	if err != nil {
		return Sample{}, s.wrap(ctx, err)
	}
	for want, err := range reading.Failed {
		reading.Failed[want] = s.wrap(ctx, err)
	}
	return Sample{Reading: reading, Started: started, Took: time.Since(started)}, nil
}

// Watch reports changes to sink until ctx is done. It returns early, with a reason, when the source has no way
// of noticing changes.
func (s *Source) Watch(ctx context.Context, sink driver.Sink) error {
	if s.watcher == nil {
		return fmt.Errorf("the %s engine cannot watch", s.traits.Engine)
	}
	if err := s.watcher.Watch(ctx, redacting{sink, s}); err != nil && ctx.Err() == nil {
		return s.wrap(ctx, err)
	}
	return nil
}

// Close closes the engine.
func (s *Source) Close() error {
	if err := s.reader.Close(); err != nil {
		return fmt.Errorf("source %q: %s", s.name, s.redact(err.Error()))
	}
	return nil
}

// redacting keeps secrets out of the reasons that a watcher gives.
type redacting struct {
	driver.Sink

	source *Source
}

func (r redacting) Push(mode driver.Mode, reason string) {
	r.Sink.Push(mode, r.source.redact(reason))
}

// checkQueue refuses a queue that cannot be.
func checkQueue(q *driver.Queue) error {
	switch {
	case q.Name == "":
		return driver.Errorf(driver.Contract, "a queue without a name was returned")
	case q.Ready < 0 || q.Running < 0 || q.Scheduled < 0 || q.Oldest < 0 || q.NextDue < 0:
		return driver.Errorf(driver.Contract, "queue %q has a negative count or age", q.Name)
	case q.Pool != nil && (q.Pool.Workers < 0 || q.Pool.Capacity < 0):
		return driver.Errorf(driver.Contract, "queue %q has a negative number of workers", q.Name)
	}
	return nil
}

// check holds a Reading against the contract of driver.Reader, so that a faulty engine shows as an error and
// not as a queue that is empty.
func check(req driver.Request, reading driver.Reading) error {
	seen := make(map[driver.Want]bool, len(reading.Queues))
	for i := range reading.Queues {
		q := &reading.Queues[i]
		key := driver.Want{Queue: q.Name, Lookahead: q.Lookahead}
		if seen[key] {
			return driver.Errorf(driver.Contract, "queue %q was returned twice", q.Name)
		}
		if err := checkQueue(q); err != nil {
			return err
		}
		seen[key] = true
	}
	for _, want := range req.Wants {
		if want.Queue != "" && !seen[want] && reading.Failed[want] == nil {
			return driver.Errorf(driver.Contract, "queue %q was asked for and not returned", want.Queue)
		}
	}
	return nil
}
