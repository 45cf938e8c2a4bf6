package redis

import (
	"fmt"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// maxListed bounds the queues that a want of every queue stands for.
const maxListed = 10_000

// A plan is what one request takes to read.
type plan struct {
	engine *Engine
	req    driver.Request
	now    time.Time
	reads  *driver.RedisReads
	parts  []*part // by the numbers that they own reads under
	wants  map[driver.Want]*part
}

// A part is one queue of a plan, or the list of all.
type part struct {
	owner  int // its number
	want   driver.Want
	ask    driver.RedisAsk
	queue  driver.Queue
	listed []*part // of a list: its queues
	named  bool    // wanted by its name
	err    error   // of a list
}

func (e *Engine) plan(req driver.Request, now time.Time) *plan {
	p := &plan{engine: e, req: req, now: now, reads: driver.NewRedisReads(), wants: make(map[driver.Want]*part, len(req.Wants))}
	for _, want := range req.Wants {
		if want.Queue == "" {
			p.list(want)
		} else {
			p.queue(want).named = true
		}
	}
	return p
}

// add gives a part its number and returns the view by which it reads.
func (p *plan) add(part *part) *driver.RedisReads {
	part.owner = len(p.parts)
	p.parts = append(p.parts, part)
	p.wants[part.want] = part
	return p.reads.For(part.owner)
}

// queue plans the reads of one queue, unless that has been done.
func (p *plan) queue(want driver.Want) *part {
	if part := p.wants[want]; part != nil {
		return part
	}
	part := &part{want: want, queue: driver.Queue{Name: want.Queue, Lookahead: want.Lookahead}}
	part.ask = driver.RedisAsk{
		RedisOptions: p.engine.options, Queue: want.Queue, Now: p.now, Lookahead: want.Lookahead,
		Limit: p.req.Limit, Activity: p.req.Activity, RunningMaxAge: p.engine.cfg.RunningMaxAge,
	}
	p.engine.cfg.Redis.Queue(p.add(part), &part.ask, &part.queue)
	return part
}

// list plans the reads of every queue that the library or the source's configuration lists.
func (p *plan) list(want driver.Want) {
	list := &part{want: want}
	reads := p.add(list)
	found := func(name string) {
		if len(list.listed) >= maxListed {
			list.err = driver.Errorf(driver.Contract, "the source has more than %d queues; name the trigger's queue", maxListed)
		}
		if name == "" || list.err != nil {
			return
		}
		list.listed = append(list.listed, p.queue(driver.Want{Queue: name, Lookahead: want.Lookahead}))
	}
	options := &p.engine.options
	for _, name := range options.Queues {
		found(name)
	}
	switch plan := p.engine.cfg.Redis.List; {
	case len(options.Queues) > 0:
	case plan != nil:
		plan(reads, options, found)
	default:
		list.err = driver.Errorf(driver.Schema, "the library keeps no list of its queues; name the trigger's queue, "+
			"or list them under the source's queues")
	}
}

// name is the queue to signal for what an owner reads.
func (p *plan) name(owner int) string { return p.parts[owner].want.Queue }

// reading is what was found out.
func (p *plan) reading() driver.Reading {
	out := driver.Reading{Now: p.now}
	for i, part := range p.parts {
		if err := p.failure(i); err != nil {
			if part.named || part.want.Queue == "" {
				if out.Failed == nil {
					out.Failed = map[driver.Want]error{}
				}
				out.Failed[part.want] = err
			}
			continue
		}
		if part.want.Queue != "" && (part.named || part.queue.Known) {
			// Clocks are rounded down to what a library's scores count by, and somebody's scores may be finer than that:
			// such a job has become due meanwhile, which is no reason to refuse the reading.
			if part.queue.NextDue < 0 {
				part.queue.NextDue = 1
			}
			out.Queues = append(out.Queues, part.queue)
		}
	}
	return out
}

// failure is why a part could not be read; a list fails with any of its queues, because its sums would lack them.
func (p *plan) failure(i int) error {
	list := p.parts[i]
	if err := p.reads.Failed(i); err != nil {
		return err
	}
	if list.err != nil || len(list.listed) == 0 {
		return list.err
	}
	for _, part := range list.listed {
		if err := p.reads.Failed(part.owner); err != nil {
			return fmt.Errorf("of every queue, %q: %w", part.want.Queue, err)
		}
	}
	return nil
}

// unknown returns the wanted names of which there is no trace.
func (p *plan) unknown() []string {
	var out []string
	for i, part := range p.parts {
		if part.named && !part.queue.Known && p.reads.Failed(i) == nil {
			out = append(out, part.want.Queue)
		}
	}
	return out
}
