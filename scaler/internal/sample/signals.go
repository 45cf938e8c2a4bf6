package sample

import "time"

// signals remembers when each queue that somebody asks for was last signalled, and any queue at all.
type signals struct {
	wanted map[string]int       // queue → how many Wants there are of it
	last   map[string]time.Time // of those alone
	all    time.Time            // last signal for every queue
	any    time.Time            // last signal for whatever queue
}

// note takes a signal for the named queue, or for every queue if it is "".
func (s *signals) note(queue string, now time.Time) {
	s.any = now
	switch {
	case queue == "":
		s.all = now
	case s.wanted[queue] > 0:
		s.last[queue] = now
	}
}

// after says whether a signal for the queue, or for any one if it is "", has come after t.
func (s *signals) after(queue string, t time.Time) bool {
	if queue == "" {
		return s.any.After(t)
	}
	return s.all.After(t) || s.last[queue].After(t)
}

func (s *signals) know(queue string) {
	if s.wanted == nil {
		s.wanted, s.last = map[string]int{}, map[string]time.Time{}
	}
	s.wanted[queue]++
}

func (s *signals) forget(queue string) {
	s.wanted[queue]--
	if s.wanted[queue] == 0 {
		delete(s.wanted, queue)
		delete(s.last, queue)
	}
}
