package page

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

// A message is one event of a stream.
type message struct {
	event string
	of    string // the source that it is about; "" for all
	body  []byte // JSON
}

func newMessage(event, of string, data any) (message, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return message{}, fmt.Errorf("%s: %w", event, err)
	}
	return message{event: event, of: of, body: body}, nil
}

// shared is what all those are told whose grants have no limits: it is made once for them, however many look.
type shared struct {
	mu  sync.Mutex
	at  time.Time
	all []message
}

// messages returns what there is for somebody of this identity.
func (p *Page) messages(id scaler.Identity, now time.Time) ([]message, error) {
	if !id.Everything() {
		return p.tell(id)
	}
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	if now.Sub(p.shared.at) < lookEvery/2 {
		return p.shared.all, nil
	}
	all, err := p.tell(id)
	if err != nil {
		return nil, err
	}
	p.shared.at, p.shared.all = now, all
	return all, nil
}

// tell makes the messages.
func (p *Page) tell(id scaler.Identity) ([]message, error) {
	sources := p.scaler.Sources(id)
	all := make([]message, 0, len(sources)+2)
	add := func(event, of string, data any) error {
		m, err := newMessage(event, of, data)
		all = append(all, m)
		return err
	}
	if err := add("sources", "", viewSources(sources)); err != nil {
		return nil, err
	}
	for i := range sources {
		name := sources[i].Name
		if err := add("queues", name, viewQueues(name, p.scaler.HeldFor(id, name))); err != nil {
			return nil, err
		}
	}
	if err := add("triggers", "", viewTriggers(p.scaler.TriggersFrom(id, 0, maxTriggers))); err != nil {
		return nil, err
	}
	return all, nil
}
