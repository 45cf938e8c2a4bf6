package scaler

import "time"

// resends is how long after an unanswered true it is said again: KEDA loses one while its discovery is partial,
// while a Kubernetes call fails and while the object is paused (keda#8168). The last one repeats. It is no shorter
// because above zero replicas a repeated true stretches KEDA's cooldown (http-add-on#1792).
var resends = [...]time.Duration{2 * time.Second, 3 * time.Second, 30 * time.Second}

// A pulse decides when a StreamIsActive stream says true: when the trigger becomes active, and again, ever more
// slowly, while there is work that nobody is at. It holds no clock and no stream, so that it can be tested alone.
type pulse struct {
	active bool
	alone  bool      // there is work and nobody is at it
	step   int       // index of the wait in resends that is under way
	again  time.Time // when true is said again if still alone
	retry  time.Time // when a look that failed is due again; zero after a good one
}

// retryLook is how long after a look that failed the next is due, whatever signals say: the one that led to it tells of
// a job that nobody has seen yet.
const retryLook = time.Second

// observe takes a fresh decision and reports whether true is to be sent now.
func (p *pulse) observe(now time.Time, d *decision) bool {
	rose := d.active && !p.active
	p.active, p.retry = d.active, time.Time{}
	switch {
	case !d.waiting():
		p.alone = false
		return rose
	case !p.alone || rose:
		p.alone, p.step = true, 0
		p.again = now.Add(resends[0])
		return rose
	case now.Before(p.again):
		return false
	default:
		p.step = min(p.step+1, len(resends)-1)
		p.again = now.Add(resends[p.step])
		return true
	}
}

// missed says that nothing could be read.
func (p *pulse) missed(now time.Time) {
	p.retry = now.Add(retryLook)
	if p.again.Before(p.retry) {
		p.again = p.retry // lest the stream asks in a loop
	}
}

// wait returns how long until a look is due without any signal, and false when none is.
func (p *pulse) wait(now time.Time) (time.Duration, bool) {
	due, is := p.again, p.alone
	if !p.retry.IsZero() { // which is not after a repeat that is put off
		due, is = p.retry, true
	}
	return max(0, due.Sub(now)), is
}
