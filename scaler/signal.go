package scaler

// Signal says that a queue of a source may have changed, or any of its queues if queue is "": what a producer
// knows that no watcher sees. It reports whether the source exists.
func (s *Server) Signal(source, queue string) bool {
	src, ok := s.sources[source]
	if ok {
		src.Signal(queue)
	}
	return ok
}

// A Reach is whom a signal concerns.
type Reach struct {
	// Streams are open on the queue, of KEDA's and of people who watch it.
	Streams int
	// Waiting of them wait for a job: they look at once. The others are active already, and look within a second.
	Waiting int
}

// SignalAs is Signal for somebody of this identity, and says whom it concerns. source may be "" where id sees one
// only. A signal of every queue takes a grant of every queue.
func (s *Server) SignalAs(id Identity, source, queue string) (Reach, error) {
	src, _, err := s.find(id, source, queue)
	if err != nil {
		return Reach{}, err
	}
	if queue == "" && !id.QueuePattern("*") {
		return Reach{}, id.Denied("queue", "*")
	}
	told, armed := s.hub.Reach(src.Name(), queue)
	src.Signal(queue)
	return Reach{Streams: told, Waiting: armed}, nil
}
