package scaler

import (
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler/internal/auth"
	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// What follows is what the Inspector, and whatever else shows a server to people, reads of it.

// Identity is a caller that has proved itself. What is shown to it is narrowed by its grant.
type Identity = auth.Identity

// Query is a trigger's metadata, parsed.
type Query = query.Query

// Identify finds out who makes the call of ctx; the error has its gRPC status.
func (s *Server) Identify(ctx context.Context) (Identity, error) {
	return s.access.Identify(ctx, nil) // the error is ready for the client
}

// Status turns any error of this package into the gRPC status that a client gets.
func (s *Server) Status(err error) error { return s.status(err) }

// Draining is closed when streams are to end.
func (s *Server) Draining() <-chan struct{} { return s.draining }

// A SourceStatus is a source as it stands.
type SourceStatus struct {
	Name   string
	Traits storage.Traits
	// PushMode is how changes are noticed, PushReason why that is less than the best, since PushSince.
	PushMode   driver.Mode
	PushReason string
	PushSince  time.Time
	// State is what the last read came to.
	State SourceState
	// Samples is what the reads came to.
	Samples sample.Status
	// Streams are open on the source, and Waiting of them wait for a job.
	Streams, Waiting int
}

// Sources returns the sources that id may see, in the order of the configuration.
func (s *Server) Sources(id Identity) []SourceStatus {
	var all []SourceStatus
	for _, src := range s.order {
		if !id.Source(src.Name()) {
			continue
		}
		st := SourceStatus{Name: src.Name(), Traits: src.Traits(), Samples: src.samples.Status()}
		st.State = stateOf(&st.Samples)
		st.PushMode, st.PushReason, st.PushSince = src.pushMode()
		st.Streams, st.Waiting = s.hub.Subs(src.Name())
		all = append(all, st)
	}
	return all
}

// A QueueView is queues of one source and the sample they are from.
type QueueView struct {
	Source string
	Queues []driver.Queue
	At     time.Time // when the sample was read
	Stale  error     // why it is older than it should be; nil for a fresh one
}

// Queues samples the named queue of a source, or all of them if queue is "", and keeps what id may see. source may
// be "" where id sees one only. A named queue that the source has no trace of is there, and not Known.
func (s *Server) Queues(ctx context.Context, id Identity, source, queue string) (QueueView, error) {
	src, want, err := s.find(id, source, queue)
	if err != nil {
		return QueueView{}, err
	}
	view, err := src.samples.Get(ctx, []driver.Want{want})
	src.note(ctx, err, view.Err)
	if err != nil {
		return QueueView{}, err // it names the source already
	}
	seen := slices.DeleteFunc(slices.Clone(view.Queues), func(q driver.Queue) bool { return !id.Queue(q.Name) })
	return QueueView{Source: src.Name(), Queues: seen, At: view.At, Stale: view.Err}, nil
}

// watchEvery is how often a watched queue is read without a signal: no library signals that a job has ended.
const watchEvery = time.Second

// WatchQueue reads the named queue and calls show with what it finds, or with why it cannot be read (the view then
// holds the source's name alone): at once, after each signal, and every second. It ends with show's error, or with
// nil when ctx is done or the server drains.
func (s *Server) WatchQueue(ctx context.Context, id Identity, source, queue string, show func(QueueView, error) error) error {
	src, want, err := s.find(id, source, queue)
	if err != nil {
		return err
	}
	sub := s.hub.Subscribe(src.Name(), []string{queue}, nil, nil)
	defer sub.Close()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for since := time.Now(); ; {
		view, err := s.peek(ctx, src, want, since)
		if err := show(view, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.draining:
			return nil
		case <-sub.C():
			_, since = sub.Take()
		case since = <-tick.C:
		}
	}
}

// peek reads one queue as it was at since or later.
func (s *Server) peek(ctx context.Context, src *source, want driver.Want, since time.Time) (QueueView, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	view, err := src.samples.Fresh(ctx, s.draining, []driver.Want{want}, since)
	src.note(ctx, err, nil)
	if err != nil {
		return QueueView{Source: src.Name()}, err // it names the source already
	}
	return QueueView{Source: src.Name(), Queues: view.Queues, At: view.At}, nil
}

// find returns the source that id names, or the only one it may see, and what to read of it.
func (s *Server) find(id Identity, name, queue string) (*source, driver.Want, error) {
	metadata := map[string]string{}
	if name != "" {
		metadata["source"] = name
	}
	q, err := query.Parse(metadata, s.visible(id)) // so that source is treated as in a trigger
	if err != nil {
		return nil, driver.Want{}, err // it names the key already
	}
	if queue != "" && !id.Queue(queue) {
		return nil, driver.Want{}, id.Denied("queue", queue)
	}
	// As in a trigger: all that is asked for is read along, and one name that a database chokes on would fail the
	// reads of everybody.
	if fault := query.Unfit(queue); queue != "" && fault != "" {
		return nil, driver.Want{}, status.Errorf(codes.InvalidArgument, "queue: %s", fault)
	}
	return s.sources[q.Source], driver.Want{Queue: queue}, nil
}

// A TriggerStatus is what one trigger asked and was told. A zero time means never.
type TriggerStatus struct {
	Namespace, Object string
	Query             Query
	Value             float64
	ValueAt           time.Time
	Active            bool
	ActiveAt          time.Time
	AskedAt           time.Time
	Err               error // of the last call
	Streams           int
	Wakes             int64
	WokenAt           time.Time
	WakeTook          time.Duration
}

// Triggers returns what KEDA has asked, as far as id may see it, ordered by namespace, object and metric.
func (s *Server) Triggers(id Identity) []TriggerStatus {
	all, _ := s.TriggersFrom(id, 0, math.MaxInt)
	return all
}

// TriggersFrom returns at most so many of Triggers, from the one at from on, and how many those are in all. It costs little
// however many there are, for somebody whose grant has no limits.
func (s *Server) TriggersFrom(id Identity, from, most int) (some []TriggerStatus, total int) {
	all := s.triggers.list()
	if !id.Everything() {
		all = slices.DeleteFunc(slices.Clone(all), func(t *trigger) bool { return hidden(id, &t.key) })
	}
	from = min(from, len(all))
	for _, t := range all[from : from+min(most, len(all)-from)] {
		some = append(some, t.status())
	}
	return some, len(all)
}

// hidden tells whether id may not see the trigger of the key.
func hidden(id Identity, key *triggerKey) bool {
	_, outside := beyond(id, &key.query)
	return outside || !id.Source(key.query.Source) || !id.Namespace(key.namespace)
}

func (t *trigger) status() TriggerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TriggerStatus{
		Namespace: t.key.namespace, Object: t.key.name, Query: t.key.query,
		Value: t.value, ValueAt: t.valueAt, Active: t.active, ActiveAt: t.activeAt,
		AskedAt: t.asked, Err: t.err,
		Streams: len(t.streams), Wakes: t.wakes, WokenAt: t.wokenAt, WakeTook: t.wakeTook,
	}
}
