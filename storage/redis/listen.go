package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/storage/driver"
)

// listen watches a session whose server does not track: by what the library announces, else by keyspace notifications,
// else not at all.
func (w *watcher) listen(ctx context.Context, s *session) error {
	why := s.untold
	if w.engine.cfg.Redis.Events != nil {
		err := w.listenTo(ctx, s, &announcements{engine: w.engine})
		if !refusal(err) {
			return err
		}
		why += "; the library's announcements: " + firstLine(err)
	}
	flags, err := keyspaceFlags(ctx, s)
	switch {
	case refusal(err):
		flags = unknownFlags
	case err != nil:
		return err
	case !strings.Contains(flags, "K"):
		w.push(driver.ModeEdgePoll, why+"; keyspace notifications are off")
		w.sink.Signal("")
		return w.follow(ctx, s)
	}
	err = w.listenTo(ctx, s, &keyspace{engine: w.engine, db: s.db, flags: flags, why: why})
	if !refusal(err) {
		return err
	}
	w.push(driver.ModeEdgePoll, why+"; keyspace notifications: "+firstLine(err))
	w.sink.Signal("")
	return w.follow(ctx, s)
}

// A tune is what can be listened to.
type tune interface {
	// channels returns what tells of the queues and keys that have been read so far.
	channels() []channel
	// mode says how good that is.
	mode(heard bool) (driver.Mode, string)
	// everywhere says that each node of a cluster tells of its own keys only.
	everywhere() bool
}

// A channel is one channel, pattern of channels, or stream, and the queues that it tells of.
type channel struct {
	driver.RedisEvent

	queues []string
}

// A listener holds the connections on which one tune is heard.
type listener struct {
	watcher *watcher
	tune    tune
	nodes   []rueidis.DedicatedClient
	streams *streams

	mu    sync.Mutex
	tells map[string][]string // channel or pattern → queues
	heard bool
	first chan struct{} // closed when something was heard
}

// listenTo listens until the session or the connections end. It returns a refusal as such.
func (w *watcher) listenTo(ctx context.Context, s *session, t tune) error {
	l := &listener{watcher: w, tune: t, tells: map[string][]string{}, first: make(chan struct{})}
	l.streams = &streams{session: s, signal: w.sink.Signal, changed: make(chan struct{}, 1), last: map[string]string{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.streams.read(ctx) })
	for _, node := range nodes(s, t) {
		l.join(ctx, group, node)
	}
	group.Go(func() error {
		if err := l.extend(ctx); err != nil {
			return err
		}
		w.sink.Signal("")
		return l.keepUp(ctx)
	})
	group.Go(func() error { return w.follow(ctx, s) })
	return group.Wait()
}

// join listens to one node until ctx is done or the connection ends.
func (l *listener) join(ctx context.Context, group *errgroup.Group, node rueidis.Client) {
	client, release := node.Dedicate()
	gone := client.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: l.take})
	l.nodes = append(l.nodes, client)
	group.Go(func() error {
		defer release()
		select {
		case err := <-gone:
			return fmt.Errorf("listening: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// nodes are those that a tune must be heard from.
func nodes(s *session, t tune) []rueidis.Client {
	if s.kind != cluster || !t.everywhere() {
		return []rueidis.Client{s.client}
	}
	var out []rueidis.Client
	for _, node := range s.client.Nodes() {
		out = append(out, node)
	}
	return out
}

// keepUp listens to what comes to be read.
func (l *listener) keepUp(ctx context.Context) error {
	first := l.first
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.watcher.engine.keys.changed:
			if err := l.extend(ctx); err != nil {
				return err
			}
		case <-first:
			first = nil
			l.say()
		}
	}
}

// extend subscribes to what is not subscribed to yet, and signals its queues for what was missed before.
func (l *listener) extend(ctx context.Context) error {
	missed := map[string]struct{}{}
	for _, c := range l.tune.channels() {
		if !l.add(&c) {
			continue
		}
		if err := l.subscribe(ctx, &c); err != nil {
			return err
		}
		for _, queue := range c.queues {
			missed[queue] = struct{}{}
		}
	}
	l.say()
	for queue := range missed {
		l.watcher.sink.Signal(queue)
	}
	return nil
}

// add notes a channel and reports whether it is new.
func (l *listener) add(c *channel) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := c.Channel + c.Pattern + c.Stream
	_, known := l.tells[name]
	l.tells[name] = c.queues
	return !known
}

func (l *listener) subscribe(ctx context.Context, c *channel) error {
	if c.Stream != "" {
		return l.streams.add(ctx, c)
	}
	for _, node := range l.nodes {
		command := node.B().Subscribe().Channel(c.Channel).Build()
		if c.Pattern != "" {
			command = node.B().Psubscribe().Pattern(c.Pattern).Build()
		}
		if err := node.Do(ctx, command).Error(); err != nil {
			return err
		}
	}
	return nil
}

// take is called for each message, by the connection's reader.
func (l *listener) take(m rueidis.PubSubMessage) {
	name := m.Channel
	if m.Pattern != "" {
		name = m.Pattern
	}
	l.mu.Lock()
	queues := slices.Clone(l.tells[name])
	if !l.heard {
		l.heard = true
		close(l.first)
	}
	l.mu.Unlock()
	for _, queue := range queues {
		l.watcher.sink.Signal(queue)
	}
}

// say tells the sink how good what is heard is.
func (l *listener) say() {
	l.mu.Lock()
	heard := l.heard
	l.mu.Unlock()
	l.watcher.push(l.tune.mode(heard))
}

// announcements is what the library says itself.
type announcements struct{ engine *Engine }

func (a *announcements) everywhere() bool { return false }

func (a *announcements) mode(bool) (driver.Mode, string) { return driver.ModeEvents, "" }

func (a *announcements) channels() []channel {
	var out []channel
	for _, queue := range a.engine.keys.queues() {
		for _, event := range a.engine.cfg.Redis.Events(&a.engine.options, queue) {
			out = append(out, channel{event, []string{queue}})
		}
	}
	return out
}
