package redis

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

// watched knows which queues a key tells of.
type watched struct {
	mu      sync.Mutex
	keys    map[string]*watchedKey
	swept   time.Time
	changed chan struct{} // size 1: there are keys that were not there before
}

type watchedKey struct {
	queues []string  // "" is every one
	class  string    // of keyspace notifications; "" where the command does not tell
	read   time.Time // last
}

// forgetAfter is how long a key is remembered that is not read any more.
const forgetAfter = 10 * time.Minute

// watch notes the keys of a round that is about to be sent.
func (w *watched) watch(round []*driver.RedisReply, name func(owner int) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	grown := false
	for _, reply := range round {
		if !reply.Watched {
			continue
		}
		key := w.keys[reply.Key]
		if key == nil {
			key = &watchedKey{class: classes[reply.Command[0]]}
			w.keys[reply.Key] = key
			grown = true
		}
		key.read = now
		key.add(reply.Owners, name)
	}
	w.sweepLocked(now)
	if grown {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// add notes the queues of a key. One that is of very many tells of every queue.
func (k *watchedKey) add(owners []int, name func(int) string) {
	const many = 16
	for _, owner := range owners {
		switch queue := name(owner); {
		case slices.Contains(k.queues, queue), slices.Equal(k.queues, []string{""}):
		case len(k.queues) == many, len(owners) > many:
			k.queues = []string{""}
			return
		default:
			k.queues = append(k.queues, queue)
		}
	}
}

func (w *watched) sweepLocked(now time.Time) {
	if now.Sub(w.swept) < forgetAfter/2 {
		return
	}
	w.swept = now
	for name, key := range w.keys {
		if now.Sub(key.read) > forgetAfter {
			delete(w.keys, name)
		}
	}
}

// of returns the queues that a key tells of.
func (w *watched) of(key string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := w.keys[key]; k != nil {
		return k.queues
	}
	return nil
}

// all returns the keys, and the classes of notifications that tell of them.
func (w *watched) all() (keys []string, classes string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, key := range w.keys {
		keys = append(keys, name)
		if !strings.Contains(classes, key.class) {
			classes += key.class
		}
	}
	slices.Sort(keys)
	return keys, classes
}

// queues returns the names of the queues whose keys were read.
func (w *watched) queues() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[string]struct{}{}
	for _, key := range w.keys {
		for _, queue := range key.queues {
			names[queue] = struct{}{}
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// classes are those of keyspace notifications, by the first letter of a command that reads.
var classes = map[byte]string{'L': "l", 'Z': "z", 'S': "s", 'H': "h", 'X': "t", 'G': "$"}

// invalidated takes what the server says of tracked keys; nil says that all may have changed, or that the connection
// is gone. It is called by the connection's reader and must not block.
func (e *Engine) invalidated(s *session, keys []rueidis.RedisMessage) {
	if keys == nil {
		s.spoil()
		return
	}
	for i := range keys {
		if key, err := keys[i].ToString(); err == nil {
			e.signal(key)
		}
	}
}

// signal tells the Watch that runs, if one does, of the queues of a key.
func (e *Engine) signal(key string) {
	sink := e.sink.Load()
	if sink == nil {
		return
	}
	for _, queue := range e.keys.of(key) {
		(*sink).Signal(queue)
	}
}
