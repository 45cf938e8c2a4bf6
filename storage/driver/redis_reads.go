package driver

import (
	"slices"
	"strconv"
	"strings"
)

// RedisReads collects the reads of plans, in rounds: what the plans ask for at first is one round, for all queues
// together; what the functions given to [RedisReads.Then] ask for is the next. The engine sends each round as one
// pipeline and then calls the functions. Equal reads are sent once.
//
// The keys of a queue's first round are watched: the engine signals the queue when one of them changes. The reads of one
// queue are sent in the order in which they were asked for, and see one instant where the server can do that. Ask for
// the place where jobs come from before that where they go, so that a job on its way is seen in one of them.
type RedisReads struct {
	*redisRounds

	owner     int
	begin     int // the owner's first round
	lenient   bool
	unwatched bool
}

// redisRounds is what all views of one collection share.
type redisRounds struct {
	rounds int
	asked  []*RedisReply
	then   []redisThen
	equal  map[string]*RedisReply
	errs   map[int]error
	notes  []string
}

type redisThen struct {
	owner int
	do    func() error
}

// NewRedisReads returns an empty collection. It is for engines.
func NewRedisReads() *RedisReads {
	return &RedisReads{redisRounds: &redisRounds{equal: map[string]*RedisReply{}, errs: map[int]error{}}}
}

// For returns a view of the collection whose reads are those of the given owner, a number of the engine's choice. An
// error of one owner leaves the others alone.
func (r *RedisReads) For(owner int) *RedisReads {
	return &RedisReads{redisRounds: r.redisRounds, owner: owner, begin: r.rounds}
}

// Lenient returns a view whose reads may be refused by the server: their replies are empty then, and a condition says
// so. It is for what a count can do without, such as ages and workers. Its keys are not watched.
func (r *RedisReads) Lenient() *RedisReads {
	return &RedisReads{redisRounds: r.redisRounds, owner: r.owner, begin: r.begin, lenient: true}
}

// Unwatched returns a view whose keys are not watched. It is for what all queues share and workers write all the time,
// where a change of the queue itself is seen elsewhere.
func (r *RedisReads) Unwatched() *RedisReads {
	return &RedisReads{redisRounds: r.redisRounds, owner: r.owner, begin: r.begin, lenient: r.lenient, unwatched: true}
}

// Note says something that a person should know about what was read and that is no error. It is shown as the source's
// condition as long as it is said, so the text must not change with each read.
func (r *RedisReads) Note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// Notes returns what was noted. It is for engines.
func (r *RedisReads) Notes() []string { return r.notes }

// Then calls do when all that was asked for so far has been answered. do may ask for more, and call Then for it. An
// error of do is the queue's, and nothing more of the queue is called.
func (r *RedisReads) Then(do func() error) {
	r.then = append(r.then, redisThen{r.owner, do})
}

// Round begins the next round and returns its reads, whose Value or Err the engine is to set. None are left when
// the plans are complete. It is for engines.
func (r *RedisReads) Round() []*RedisReply {
	round := r.asked
	r.asked = nil
	r.rounds++
	return round
}

// Settle takes the replies of a round and calls the functions that wait for them. It is for engines.
func (r *RedisReads) Settle(round []*RedisReply) {
	for _, reply := range round {
		if reply.Err == nil {
			reply.Err = reply.shape.take(reply)
		}
		if reply.Err == nil || reply.lenient {
			continue
		}
		for _, owner := range reply.Owners {
			r.Fail(owner, reply.Err)
		}
	}
	r.proceed()
	for len(r.then) > 0 && len(r.asked) == 0 { // they wait for nothing but what an earlier round has answered
		r.proceed()
	}
}

// proceed calls the functions that wait, but not those that they leave behind.
func (r *RedisReads) proceed() {
	then := r.then
	r.then = nil
	for _, t := range then {
		if r.errs[t.owner] != nil {
			continue
		}
		if err := t.do(); err != nil {
			r.Fail(t.owner, err)
		}
	}
}

// Fail ends what is read for an owner, unless that has failed before. It is for engines.
func (r *RedisReads) Fail(owner int, err error) {
	if r.errs[owner] == nil {
		r.errs[owner] = err
	}
}

// Failed returns why an owner's reads failed; nil when they did not. It is for engines.
func (r *RedisReads) Failed(owner int) error { return r.errs[owner] }

// ask adds a read, or finds the equal one of this or an earlier round.
func (r *RedisReads) ask(shape redisShape, command, key string, args ...string) *RedisReply {
	id := strings.Join(append([]string{command, strconv.FormatBool(r.lenient), strconv.FormatBool(r.unwatched), key}, args...), "\x00")
	reply := r.equal[id]
	if reply == nil {
		reply = &RedisReply{Command: command, Key: key, Args: args, shape: shape, lenient: r.lenient}
		r.equal[id] = reply
		r.asked = append(r.asked, reply)
	}
	reply.Watched = reply.Watched || r.rounds == r.begin && !r.lenient && !r.unwatched
	if !slices.Contains(reply.Owners, r.owner) {
		reply.Owners = append(reply.Owners, r.owner)
		if err := reply.Err; err != nil && !r.lenient {
			r.Fail(r.owner, err)
		}
	}
	return reply
}

// LLen counts a list.
func (r *RedisReads) LLen(key string) *RedisReply { return r.ask(redisInt, "LLEN", key) }

// ZCard counts a sorted set.
func (r *RedisReads) ZCard(key string) *RedisReply { return r.ask(redisInt, "ZCARD", key) }

// ZCount counts the elements of a sorted set with scores from lowest to highest, in Redis' notation: "-inf", "(5".
func (r *RedisReads) ZCount(key, lowest, highest string) *RedisReply {
	return r.ask(redisInt, "ZCOUNT", key, lowest, highest)
}

// SCard counts a set.
func (r *RedisReads) SCard(key string) *RedisReply { return r.ask(redisInt, "SCARD", key) }

// HLen counts a hash.
func (r *RedisReads) HLen(key string) *RedisReply { return r.ask(redisInt, "HLEN", key) }

// XLen counts a stream.
func (r *RedisReads) XLen(key string) *RedisReply { return r.ask(redisInt, "XLEN", key) }

// Exists is 1 when there is such a key.
func (r *RedisReads) Exists(key string) *RedisReply { return r.ask(redisInt, "EXISTS", key) }

// HExists is 1 when the hash has such a field.
func (r *RedisReads) HExists(key, field string) *RedisReply {
	return r.ask(redisInt, "HEXISTS", key, field)
}

// SIsMember is 1 when the set has such an element.
func (r *RedisReads) SIsMember(key, element string) *RedisReply {
	return r.ask(redisInt, "SISMEMBER", key, element)
}

// LIndex reads one element of a list; -1 is the last.
func (r *RedisReads) LIndex(key string, index int) *RedisReply {
	return r.ask(redisText, "LINDEX", key, strconv.Itoa(index))
}

// Get reads a string.
func (r *RedisReads) Get(key string) *RedisReply { return r.ask(redisText, "GET", key) }

// HGet reads one field of a hash.
func (r *RedisReads) HGet(key, field string) *RedisReply { return r.ask(redisText, "HGET", key, field) }

// HMGet reads fields of a hash; [RedisReply.Texts] holds "" for those that it lacks.
func (r *RedisReads) HMGet(key string, fields ...string) *RedisReply {
	return r.ask(redisTexts, "HMGET", key, fields...)
}

// HGetAll reads a hash.
func (r *RedisReads) HGetAll(key string) *RedisReply { return r.ask(redisPairs, "HGETALL", key) }

// HScan reads some n fields of a hash, or all of a small one, from a cursor on: "0" at first, then [RedisReply.Cursor],
// which is "0" at the end. A field can come twice.
func (r *RedisReads) HScan(key, cursor string, n int) *RedisReply {
	return r.ask(redisPairsPage, "HSCAN", key, cursor, "COUNT", strconv.Itoa(n))
}

// SMembers reads a set. It is for sets that are small by their nature.
func (r *RedisReads) SMembers(key string) *RedisReply { return r.ask(redisTexts, "SMEMBERS", key) }

// LRange reads elements of a list, the last one included.
func (r *RedisReads) LRange(key string, first, last int) *RedisReply {
	return r.ask(redisTexts, "LRANGE", key, strconv.Itoa(first), strconv.Itoa(last))
}

// ZRangeByScore reads at most n elements with their scores, from the lowest up.
func (r *RedisReads) ZRangeByScore(key, lowest, highest string, n int) *RedisReply {
	return r.ask(redisScores, "ZRANGEBYSCORE", key, lowest, highest, "WITHSCORES", "LIMIT", "0", strconv.Itoa(n))
}

// XInfoGroups reads the consumer groups of a stream.
func (r *RedisReads) XInfoGroups(key string) *RedisReply {
	return r.ask(redisMaps, "XINFO GROUPS", key)
}

// XRange reads the ids of at most n entries of a stream, in Redis' notation: "-", "(5-0".
func (r *RedisReads) XRange(key, first, last string, n int) *RedisReply {
	return r.ask(redisEntries, "XRANGE", key, first, last, "COUNT", strconv.Itoa(n))
}

// Names passes each element of a set to found, a thousand at a time, however large the set is.
func (r *RedisReads) Names(key string, found func(string)) {
	r.names(key, "0", map[string]bool{}, found)
}

// names reads on from a cursor. A server that leads back to one that was before would never come to an end.
func (r *RedisReads) names(key, cursor string, before map[string]bool, found func(string)) {
	before[cursor] = true
	page := r.ask(redisPage, "SSCAN", key, cursor, "COUNT", "1000")
	r.Then(func() error {
		for _, name := range page.texts {
			found(name)
		}
		switch {
		case page.cursor == "0":
		case before[page.cursor]:
			return Errorf(Contract, "SSCAN of key %q came back to cursor %.40q, and so would never end", key, page.cursor)
		default:
			r.names(key, page.cursor, before, found)
		}
		return nil
	})
}
