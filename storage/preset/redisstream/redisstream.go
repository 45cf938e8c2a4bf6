// Package redisstream is the preset redis-stream, for consumer groups of Redis streams: a queue is a stream, its jobs
// the entries that a group still has to get or to acknowledge. README.md says what is read and what counts.
package redisstream

import (
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// Preset is any program that reads streams by XREADGROUP.
var Preset = driver.Preset{
	Name: "redis-stream",
	Redis: &driver.Redis{
		Options: driver.RedisPrefix | driver.RedisQueues | driver.RedisGroup,
		Queue:   planQueue,
		Near:    near,
	},
}

// A stream is what is read of one.
type stream struct {
	r   *driver.RedisReads
	ask *driver.RedisAsk
	q   *driver.Queue
	key string

	groups, length *driver.RedisReply
}

func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	s := &stream{r: r, ask: ask, q: q, key: ask.Prefix + ask.Queue}
	s.groups, s.length = r.XInfoGroups(s.key), r.XLen(s.key)
	r.Then(s.fill)
}

// fill looks at the entries that groups have not got, where there can be some.
func (s *stream) fill() error {
	groups, err := s.wanted()
	if err != nil {
		return err
	}
	s.q.Known = len(groups) > 0 || s.length.Int() > 0
	if s.q.Known && len(groups) == 0 {
		s.missing()
	}
	for _, g := range groups {
		s.q.Running += g.pending
		if s.length.Int() > 0 { // else there is nothing to get
			s.probe(g)
		}
	}
	return nil
}

// wanted are the groups that are asked for: one, or all.
func (s *stream) wanted() ([]group, error) {
	var out []group
	for _, fields := range s.groups.Maps() {
		if s.ask.Group != "" && fields["name"] != s.ask.Group {
			continue
		}
		g, err := groupOf(fields)
		if err != nil {
			return nil, driver.Errorf(driver.Contract, "XINFO GROUPS of key %q: %v", s.key, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// missing says that there is a stream without the group. Its entries are nobody's jobs, yet.
func (s *stream) missing() {
	const remedy = "so nothing counts in it; make it before the first worker does: XGROUP CREATE"
	if s.ask.Group != "" {
		s.q.Known = false
		s.r.Note(fmt.Sprintf("the stream %q has no consumer group %q, %s, or correct the source's group", s.key, s.ask.Group, remedy))
		return
	}
	s.r.Note(fmt.Sprintf("the stream %q has no consumer group, %s", s.key, remedy))
}

// near finds streams by their prefix. Without one any key of the database would do, and those are not for all to see.
func near(o *driver.RedisOptions) (match string, name func(key string) (queue string, ok bool)) {
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(o.Prefix)
	return literal + "*", func(key string) (string, bool) {
		queue, ok := strings.CutPrefix(key, o.Prefix)
		return queue, ok && o.Prefix != ""
	}
}
