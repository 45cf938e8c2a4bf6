package page

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
)

const (
	// patience is how long a reader may take to take what was written to it.
	patience = 10 * time.Second
	// aliveEvery is how often a stream that has nothing to say says so: proxies end those that are silent.
	aliveEvery = 15 * time.Second
	// rest is what a stream takes of a processor at most: one part in rest.
	rest = 20
)

// A stream is one open event stream.
type stream struct {
	page    *Page
	w       http.ResponseWriter
	control *http.ResponseController
	sent    map[string]uint64 // by event: the hash of what was last sent
	seed    maphash.Seed
	past    int64     // the first bucket of history not sent for good; 0 before the first
	told    time.Time // when history was last sent
	wrote   time.Time
	out     bytes.Buffer // what the pass under way has to say
}

// events streams what the caller may see until the caller goes, loses the permission, or the server drains.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	ctx, _, err := p.admit(r)
	if err != nil {
		p.fail(w, err)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		p.fail(w, status.Errorf(codes.ResourceExhausted,
			"%d pages are open on this server already; close one, or look at another replica", maxStreams))
		return
	}
	s := &stream{page: p, w: w, control: http.NewResponseController(w), sent: map[string]uint64{}, seed: maphash.MakeSeed()}
	// The server's limits are those of a request that ends. Where there is none to lift, none is in the way.
	_ = s.control.SetReadDeadline(time.Time{})
	web.Stays(r)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx keeps it back otherwise
	w.WriteHeader(http.StatusOK)
	s.run(ctx) //nolint:contextcheck // admit has made it of the request's
}

// run looks and tells, again and again.
func (s *stream) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.page.scaler.Draining():
			s.end("the server ends; another will answer")
			return
		case <-timer.C:
		}
		began := time.Now()
		id, err := s.page.scaler.Identify(ctx) // the rules may have changed, and credentials expire
		if err != nil {
			s.end(status.Convert(s.page.scaler.Status(err)).Message())
			return
		}
		if err := s.look(id, began); err != nil {
			s.page.log.Error("the page cannot be told what there is", "error", err)
			return
		}
		took := time.Since(began)
		if s.flush() != nil {
			return // the reader is gone, or too slow
		}
		timer.Reset(max(lookEvery, rest*took))
	}
}

// end says why the stream ends.
func (s *stream) end(why string) {
	s.out.Reset()
	if s.put("end", failure{why}, true) == nil {
		_ = s.flush() // there is nothing after it
	}
}

// look notes what has changed for somebody of this identity.
func (s *stream) look(id scaler.Identity, now time.Time) error {
	for name, looked := range s.page.watched {
		if id.Source(name) {
			looked.Store(&now)
		}
	}
	all, err := s.page.messages(id, now)
	if err != nil {
		return err
	}
	if err := s.put("caller", caller{id.String()}, false); err != nil {
		return err
	}
	for i := range all {
		s.putMessage(&all[i], false)
	}
	return s.putPast(id, now)
}

// A caller is who is shown the page.
type caller struct {
	Name string `json:"name"`
}

// putPast tells the history once, and then what each bucket came to.
func (s *stream) putPast(id scaler.Identity, now time.Time) error {
	if now.Sub(s.told) < bucketSpan {
		return nil
	}
	view := pastView{SpanMillis: bucketSpan.Milliseconds(), Buckets: buckets, Series: s.page.history.since(id, s.past, now)}
	s.past, s.told = bucketOf(now)-1, now // that before the open one may get a late sample
	return s.put("history", view, false)
}

type pastView struct {
	SpanMillis int64    `json:"spanMillis"`
	Buckets    int      `json:"buckets"`
	Series     []series `json:"series"`
}

// put notes an event, unless it is what was last sent and need not be told again.
func (s *stream) put(event string, data any, always bool) error {
	m, err := newMessage(event, "", data)
	if err == nil {
		s.putMessage(&m, always)
	}
	return err
}

func (s *stream) putMessage(m *message, always bool) {
	key, hash := m.event+"/"+m.of, maphash.Bytes(s.seed, m.body)
	if last, ok := s.sent[key]; ok && last == hash && !always {
		return
	}
	s.sent[key] = hash
	fmt.Fprintf(&s.out, "event: %s\ndata: {\"now\":%d,\"data\":%s}\n\n", m.event, time.Now().UnixMilli(), m.body)
}

// flush sends what is noted.
func (s *stream) flush() error {
	now := time.Now()
	if s.out.Len() == 0 {
		if now.Sub(s.wrote) < aliveEvery {
			return nil
		}
		s.out.WriteString(": alive\n\n")
	}
	defer s.out.Reset()
	s.wrote = now
	_ = s.control.SetWriteDeadline(now.Add(patience)) // where there is none to set, the handler's caller sees to it
	if _, err := s.out.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}
