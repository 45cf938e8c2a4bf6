package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/storage/driver"
)

// send sends one round of reads and sets their replies; last adds what is to be read after all of them, nil for nothing. Its
// error is the connection's; that of one read is the reply's.
func (s *session) send(ctx context.Context, round []*driver.RedisReply, last func(*batch)) error {
	var b batch
	groups, rest := grouped(round)
	if s.kind == cluster {
		if err := s.sendToNodes(ctx, groups, rest); err != nil {
			return err
		}
	} else {
		for _, group := range groups {
			b.transaction(s, group)
		}
		b.plainly(s, rest)
	}
	if last != nil {
		last(&b)
	}
	if err := s.do(ctx, &b); err != nil {
		return err
	}
	return s.again(ctx, round)
}

// sendToNodes sends each group by itself, because a pipeline with a transaction must lead to one node.
func (s *session) sendToNodes(ctx context.Context, groups [][]*driver.RedisReply, rest []*driver.RedisReply) error {
	nodes, ctx := errgroup.WithContext(ctx)
	nodes.SetLimit(64)
	for _, group := range groups {
		nodes.Go(func() error {
			var b batch
			b.transaction(s, group)
			return s.do(ctx, &b)
		})
	}
	nodes.Go(func() error {
		var b batch
		b.plainly(s, rest)
		return s.do(ctx, &b)
	})
	return nodes.Wait()
}

// grouped sorts reads into those that are to see one instant, by who asked first, and the rest: those that may be
// refused, which would undo a transaction, and those that are alone.
func grouped(round []*driver.RedisReply) (groups [][]*driver.RedisReply, rest []*driver.RedisReply) {
	at := map[int]int{}
	for _, reply := range round {
		if !reply.Watched {
			rest = append(rest, reply)
			continue
		}
		i, ok := at[reply.Owners[0]]
		if !ok {
			i = len(groups)
			at[reply.Owners[0]] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], reply)
	}
	return groups, rest
}

// A batch is one pipeline, and what takes its results in turn.
type batch struct {
	commands []rueidis.Completed
	take     []func(result rueidis.RedisResult) error
}

func (b *batch) add(command rueidis.Completed, take func(rueidis.RedisResult) error) {
	b.commands, b.take = append(b.commands, command), append(b.take, take)
}

// plainly adds reads one by one.
func (b *batch) plainly(s *session, replies []*driver.RedisReply) {
	for _, reply := range replies {
		b.read(s, reply, s.build(reply))
	}
}

// read adds one read, whose command has been built.
func (b *batch) read(s *session, reply *driver.RedisReply, command rueidis.Completed) {
	b.add(command, func(result rueidis.RedisResult) error { return s.settle(reply, result) })
}

// transacts says whether reads can be one transaction: there are several, the server does not refuse it and, in a cluster,
// their keys are in one slot.
func (s *session) transacts(commands []rueidis.Completed) bool {
	if len(commands) == 1 || s.noMulti.Load() {
		return false
	}
	elsewhere := func(c rueidis.Completed) bool { return c.Slot() != commands[0].Slot() }
	return s.kind != cluster || !slices.ContainsFunc(commands, elsewhere)
}

// transaction adds reads between MULTI and EXEC where they can be a transaction, else one by one.
func (b *batch) transaction(s *session, replies []*driver.RedisReply) {
	commands := make([]rueidis.Completed, len(replies))
	for i, reply := range replies {
		commands[i] = s.build(reply)
	}
	if !s.transacts(commands) {
		for i, reply := range replies {
			b.read(s, reply, commands[i])
		}
		return
	}
	b.add(s.client.B().Multi().Build(), func(result rueidis.RedisResult) error {
		err := result.Error()
		if refusal(err) {
			s.noMulti.Store(true)
			s.refused.add("MULTI", "the counts of a queue are not of one instant")
			err = nil
		}
		return ignoreReply(err)
	})
	for i, reply := range replies {
		b.add(commands[i], func(result rueidis.RedisResult) error { return s.queued(reply, result) })
	}
	b.add(s.client.B().Exec().Build(), func(result rueidis.RedisResult) error { return s.executed(replies, result) })
}

// ignoreReply leaves only what went wrong with the connection.
func ignoreReply(err error) error {
	if _, ok := rueidis.IsRedisErr(err); ok {
		return nil
	}
	return err
}

// queued takes what the server says of a read within a transaction: that it is queued, that it is refused, or, where
// there was no transaction, the reply itself.
func (s *session) queued(reply *driver.RedisReply, result rueidis.RedisResult) error {
	if s.noMulti.Load() {
		return s.settle(reply, result)
	}
	return s.settleError(reply, result.Error())
}

// executed takes the replies of a transaction.
func (s *session) executed(replies []*driver.RedisReply, result rueidis.RedisResult) error {
	if s.noMulti.Load() {
		return ignoreReply(result.Error())
	}
	values, err := result.ToArray()
	if e, ok := rueidis.IsRedisErr(err); ok {
		// One of the reads was refused and has its error; the others were not done.
		for _, reply := range replies {
			if reply.Err == nil {
				reply.Err = abortedError{e}
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if len(values) != len(replies) {
		return driver.Errorf(driver.Contract, "a transaction of %d reads was answered with %d replies", len(replies), len(values))
	}
	for i, reply := range replies {
		value, err := values[i].ToAny()
		if reply.Value = value; err != nil {
			if err := s.settleError(reply, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// An abortedError is that of a read whose transaction was given up because of another.
type abortedError struct{ *rueidis.RedisError }

// do sends a pipeline and takes its results.
func (s *session) do(ctx context.Context, b *batch) error {
	if len(b.commands) == 0 {
		return nil
	}
	take := b.take
	for i, result := range s.client.DoMulti(ctx, b.commands...) {
		if err := take[i](result); err != nil {
			return err
		}
	}
	return nil
}

// again sends once more, one by one, what was given up because another read of its transaction was refused.
func (s *session) again(ctx context.Context, round []*driver.RedisReply) error {
	var b batch
	for _, reply := range round {
		if _, ok := errors.AsType[abortedError](reply.Err); ok {
			reply.Err = nil
			b.plainly(s, []*driver.RedisReply{reply})
		}
	}
	return s.do(ctx, &b)
}

// build makes the command of a read.
func (s *session) build(reply *driver.RedisReply) rueidis.Completed {
	words := strings.Fields(reply.Command)
	return s.client.B().Arbitrary(words...).Keys(reply.Key).Args(reply.Args...).Build()
}

// settle sets the reply to what the server answered.
func (s *session) settle(reply *driver.RedisReply, result rueidis.RedisResult) error {
	value, err := result.ToAny()
	if err == nil {
		reply.Value = value
		return nil
	}
	return s.settleError(reply, err)
}

// settleError sets the reply to what went wrong with it, and returns what went wrong with the connection.
func (s *session) settleError(reply *driver.RedisReply, err error) error {
	if err == nil || rueidis.IsRedisNil(err) {
		return nil
	}
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	switch {
	case strings.HasPrefix(e.Error(), "no such key"): // XINFO's way to say it
	case reply.Lenient() && refusal(err):
		s.refused.add(reply.Command, "what it tells is left out")
		fallthrough // so that a plan can tell what is unknown from what is none
	default:
		out := classifyReply(e, s.user)
		out.Message = reply.Command + " of key " + quote(reply.Key) + ": " + out.Message
		if keyDenied(e) {
			out.Message += "; " + keyLine(s.user, reply.Key)
		}
		reply.Err = out
	}
	return nil
}

// askServer adds what is asked of the server itself: its clock, and its role, which is read last so that it holds for
// all that was read before. jumped is set when the clock was not what the reads went by.
func (b *batch) askServer(s *session, jumped *bool) {
	if s.kind == cluster { // whose nodes answer MOVED where they hold nothing, and whose clocks differ
		return
	}
	asked := time.Now()
	if !s.noTime.Load() {
		b.add(s.client.B().Time().Build(), func(result rueidis.RedisResult) (err error) {
			*jumped, err = s.takeTime(result, asked)
			return err
		})
	}
	if !s.noRole.Load() {
		b.add(s.client.B().Role().Build(), s.takeRole)
	}
}
