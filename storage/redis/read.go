package redis

import (
	"context"
	"errors"
	"slices"

	"github.com/leadsman/leadsman/storage/driver"
)

// Read implements driver.Reader.
func (e *Engine) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
	}
	reading, again, err := e.try(ctx, req)
	if again && ctx.Err() == nil {
		reading, _, err = e.try(ctx, req)
	}
	if err != nil {
		return driver.Reading{}, classify(ctx, err)
	}
	return reading, nil
}

// try reads once. again says that it is worth to try once more: on another connection, or by a clock that is right.
func (e *Engine) try(ctx context.Context, req driver.Request) (reading driver.Reading, again bool, err error) {
	s, err := e.session(ctx)
	if err != nil {
		return reading, false, err
	}
	reading, jumped, err := e.read(ctx, s, req)
	if errors.Is(err, errDemoted) || broken(err) {
		e.drop(s)
		return reading, true, err
	}
	return reading, jumped && err == nil, err
}

// read does the rounds of a request.
func (e *Engine) read(ctx context.Context, s *session, req driver.Request) (_ driver.Reading, jumped bool, err error) {
	now, err := s.now(ctx)
	if err != nil {
		return driver.Reading{}, false, err
	}
	p := e.plan(req, now)
	for first := true; ; first = false {
		round := p.reads.Round()
		if len(round) == 0 {
			break
		}
		e.keys.watch(round, p.name)
		var last func(*batch)
		if first {
			last = func(b *batch) { b.askServer(s, &jumped) }
		}
		if err := s.send(ctx, round, last); err != nil {
			return driver.Reading{}, false, err
		}
		p.reads.Settle(round)
	}
	reading := p.reading()
	reading.Notes = slices.Concat(e.cfg.Redis.Notes, p.reads.Notes(), s.refused.notes(), e.near.notes(ctx, e, s, p))
	return reading, jumped, nil
}
