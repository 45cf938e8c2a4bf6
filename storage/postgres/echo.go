package postgres

import (
	"container/heap"
	"time"
)

// maxEchoes bounds the queues that are echoed at once; beyond it all queues are echoed together.
const maxEchoes = 1024

// echoes remembers to signal a queue again some time after each notification, for libraries that announce
// only the first of several inserts. A newer notification of the same queue replaces the older one's echoes, so
// there is one entry for each queue. It is a heap by the next time.
type echoes struct {
	delays []time.Duration // ascending
	heap   echoHeap
	byName map[string]*echo
}

type echo struct {
	queue string
	base  time.Time // of the notification
	step  int       // index of the next delay
	at    time.Time // base + that delay
	index int       // in the heap
}

func newEchoes(delays []time.Duration) *echoes {
	return &echoes{delays: delays, byName: make(map[string]*echo)}
}

// after plans the echoes of a notification.
func (s *echoes) after(queue string, now time.Time) {
	if len(s.delays) == 0 {
		return
	}
	e, ok := s.byName[queue]
	if !ok && len(s.byName) >= maxEchoes {
		queue = ""
		e, ok = s.byName[queue]
	}
	if !ok {
		e = &echo{queue: queue}
		s.byName[queue] = e
		e.at = now.Add(s.delays[0])
		heap.Push(&s.heap, e)
	}
	e.base, e.step, e.at = now, 0, now.Add(s.delays[0])
	heap.Fix(&s.heap, e.index)
}

// until returns the time of the next echo, and end if that is earlier.
func (s *echoes) until(end time.Time) time.Time {
	if len(s.heap) > 0 && s.heap[0].at.Before(end) {
		return s.heap[0].at
	}
	return end
}

// due signals each queue whose echo is due, once however many were missed.
func (s *echoes) due(now time.Time, signal func(queue string)) {
	for len(s.heap) > 0 && !s.heap[0].at.After(now) {
		e := s.heap[0]
		signal(e.queue)
		for e.step < len(s.delays) && !e.base.Add(s.delays[e.step]).After(now) {
			e.step++
		}
		if e.step == len(s.delays) {
			heap.Pop(&s.heap)
			delete(s.byName, e.queue)
			continue
		}
		e.at = e.base.Add(s.delays[e.step])
		heap.Fix(&s.heap, 0)
	}
}

// echoHeap is a heap.Interface.
type echoHeap []*echo //nolint:recvcheck // Push and Pop change the slice, the others must not

func (h echoHeap) Len() int           { return len(h) }
func (h echoHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h echoHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *echoHeap) Push(x any) {
	e := x.(*echo) //nolint:forcetypeassert // only after pushes
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *echoHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
