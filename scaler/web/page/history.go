package page

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

const (
	bucketSpan = 20 * time.Second
	buckets    = 180 // an hour of them
	// maxRings bounds the queues whose past is kept: some 1.5 MB.
	maxRings = 500
	// abandoned is how long a queue must not have been read for its ring to be given to another.
	abandoned = time.Minute
)

// unknown stands for a count where nothing was read. It is not 0, and a chart has a gap there.
const unknown = -1

// A bucket is the peak of what was read within 20 seconds, so that a short burst shows.
type bucket struct{ ready, running int64 }

// A ring is the last hour of one queue.
type ring struct {
	newest  int64     // number of the newest bucket, in bucketSpans of Unix time
	read    time.Time // when the newest sample in it was read
	buckets [buckets]bucket
}

// A queueKey names a queue of a source.
type queueKey struct{ source, queue string }

// A history keeps the last hour of the queues that somebody asks for. It reads nothing itself: it is told what is
// held anyway, and files it under the time at which that was read.
type history struct {
	mu    sync.Mutex
	rings map[queueKey]*ring
}

// record files what is held of a source's queues.
func (h *history) record(source string, held []scaler.HeldQueue) {
	// Those first that somebody asks for by name: where there is no room for all, they shall have a past.
	slices.SortStableFunc(held, func(a, b scaler.HeldQueue) int { return cmp.Compare(rank(a), rank(b)) })
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for i := range held {
		q := &held[i]
		if r := h.ringLocked(queueKey{source, q.Name}, now); r != nil && q.At.After(r.read) {
			r.add(q)
		}
	}
}

func rank(q scaler.HeldQueue) int {
	if q.Asked {
		return 0
	}
	return 1
}

// ringLocked returns the ring of a queue, made if need be; nil where there is no room.
func (h *history) ringLocked(key queueKey, now time.Time) *ring {
	if r := h.rings[key]; r != nil {
		return r
	}
	if len(h.rings) >= maxRings && !h.dropLocked(now) {
		return nil
	}
	if h.rings == nil {
		h.rings = map[queueKey]*ring{}
	}
	r := &ring{}
	r.clear()
	h.rings[key] = r
	return r
}

// dropLocked forgets the queue that has not been read for longest, and reports whether there is one.
func (h *history) dropLocked(now time.Time) bool {
	var oldest queueKey
	var read time.Time
	for key, r := range h.rings {
		if now.Sub(r.read) > abandoned && (read.IsZero() || r.read.Before(read)) {
			oldest, read = key, r.read
		}
	}
	delete(h.rings, oldest)
	return !read.IsZero()
}

func bucketOf(at time.Time) int64 { return at.UnixNano() / int64(bucketSpan) }

func (r *ring) clear() {
	for i := range r.buckets {
		r.buckets[i] = bucket{unknown, unknown}
	}
}

// add files a sample that is newer than all others.
func (r *ring) add(q *scaler.HeldQueue) {
	number := bucketOf(q.At)
	if number-r.newest >= buckets || number < r.newest { // too long ago, or the clock was set back
		r.clear()
	} else {
		for between := r.newest + 1; between <= number; between++ {
			r.buckets[between%buckets] = bucket{unknown, unknown}
		}
	}
	r.newest, r.read = number, q.At
	b := &r.buckets[number%buckets]
	b.ready, b.running = max(b.ready, q.Ready), max(b.running, q.Running)
}

// A series is the past of one queue, from bucket From on. Counts are -1 where nothing was read.
type series struct {
	Source  string  `json:"source"`
	Queue   string  `json:"queue"`
	From    int64   `json:"from"`
	Ready   []int64 `json:"ready"`
	Running []int64 `json:"running"`
}

// since returns the queues that id may see, from bucket from on, or from an hour ago if that is later.
func (h *history) since(id scaler.Identity, from int64, now time.Time) []series {
	from = max(from, bucketOf(now)-buckets+1)
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []series{}
	for key, r := range h.rings {
		switch {
		case !id.Source(key.source) || !id.Queue(key.queue):
		case r.newest < bucketOf(now)-buckets:
			delete(h.rings, key)
		case r.newest >= from:
			all = append(all, r.series(key, from))
		}
	}
	slices.SortFunc(all, func(a, b series) int { return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Queue, b.Queue)) })
	return all
}

// series cuts out what is known from bucket from on.
func (r *ring) series(key queueKey, from int64) series {
	from = max(from, r.newest-buckets+1)
	for from < r.newest && r.buckets[from%buckets].ready == unknown {
		from++
	}
	s := series{Source: key.source, Queue: key.queue, From: from}
	for number := from; number <= r.newest; number++ {
		b := r.buckets[number%buckets]
		s.Ready, s.Running = append(s.Ready, b.ready), append(s.Running, b.running)
	}
	return s
}
