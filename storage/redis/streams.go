package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// streams waits for entries of streams in which a library announces its jobs. To read them takes nothing away.
type streams struct {
	session *session
	signal  func(queue string)
	changed chan struct{} // size 1: there is another stream

	mu     sync.Mutex
	last   map[string]string // stream → id of the last entry seen
	queues map[string][]string
}

// readBlock is how long one read waits at most.
const readBlock = 5 * time.Second

// add begins with what comes after the last entry of a stream.
func (s *streams) add(ctx context.Context, c *channel) error {
	command := s.session.client.B().Xrevrange().Key(c.Stream).End("+").Start("-").Count(1).Build()
	entries, err := s.session.client.Do(ctx, command).AsXRange()
	if err != nil && !rueidis.IsRedisNil(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[string][]string{}
	}
	s.last[c.Stream], s.queues[c.Stream] = "0-0", c.queues
	if len(entries) > 0 {
		s.last[c.Stream] = entries[0].ID
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return nil
}

// read waits for entries until ctx is done.
func (s *streams) read(ctx context.Context) error {
	for {
		keys, ids := s.state()
		if len(keys) == 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-s.changed:
			}
			continue
		}
		entries, err := s.readOnce(ctx, keys, ids)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil, rueidis.IsRedisNil(err), errors.Is(err, context.Canceled): // entries, none in time, another stream
		default:
			return err
		}
		for stream, news := range entries {
			s.take(stream, news)
		}
	}
}

// readOnce waits for entries, but no longer than until a stream is added.
func (s *streams) readOnce(ctx context.Context, keys, ids []string) (map[string][]rueidis.XRangeEntry, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	watching.Go(func() {
		select {
		case <-s.changed:
			cancel()
		case <-ctx.Done():
		}
	})
	client := s.session.client
	command := client.B().Xread().Block(readBlock.Milliseconds()).Streams().Key(keys...).Id(ids...).Build()
	return client.Do(ctx, command).AsXRead()
}

// state is what is waited for: the streams, and of each the last entry seen.
func (s *streams) state() (keys, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = slices.Sorted(maps.Keys(s.last))
	for _, key := range keys {
		ids = append(ids, s.last[key])
	}
	return keys, ids
}

func (s *streams) take(stream string, news []rueidis.XRangeEntry) {
	if len(news) == 0 {
		return
	}
	s.mu.Lock()
	s.last[stream] = news[len(news)-1].ID
	queues := s.queues[stream]
	s.mu.Unlock()
	for _, queue := range queues {
		s.signal(queue)
	}
}
