package driver

import "time"

// Redis is a job library in Redis: which of its keys hold what. What is to be read is planned by code, because keys
// are computed and some reads depend on others, but a plan does nothing else than name reads and add up replies: it
// sends nothing, and it has no command that writes, blocks, scans or runs a script.
type Redis struct {
	// Options are what a source may say of the layout; see [RedisOptions].
	Options RedisOption
	// Defaults stand for the options that the source leaves open.
	Defaults RedisOptions
	// Queue plans the reads of one queue and fills q from their replies. The name, the lookahead and the clock are
	// the engine's. Known must be set where any trace of the queue is seen.
	Queue func(r *RedisReads, ask *RedisAsk, q *Queue)
	// List plans the reads of the names of all queues, and passes each name to found, once or more. nil where the
	// library keeps no list of them; then a source may name its queues (RedisOptions.Queues).
	List func(r *RedisReads, o *RedisOptions, found func(queue string))
	// Check refuses options that make no sense, with an error that names the key; nil where none can be wrong.
	Check func(o *RedisOptions) error
	// Events says how the library announces the jobs of a queue, for servers that do not track reads; nil when it
	// does not.
	Events func(o *RedisOptions, queue string) []RedisEvent
	// Near is the pattern of the keys, in the form of SCAN's MATCH, by which a queue is known, and the queue's name
	// in such a key; "" where List is enough. It is for people who ask about a queue that is not known, and is
	// scanned for seldom and within bounds.
	Near func(o *RedisOptions) (match string, name func(key string) (queue string, ok bool))
	// Notes are shown as the source's conditions.
	Notes []string
}

// RedisOptions is what a source may say of the layout of its library.
type RedisOptions struct {
	// Prefix is what all keys begin with.
	Prefix string
	// Queues names the queues where the library keeps no list of them.
	Queues []string
	// PrioritySteps are Celery's priorities; Separator stands between a queue and a step.
	PrioritySteps []int
	Separator     string
	// Group is the consumer group of streams; "" is all groups.
	Group string
	// Keys are the keys of each queue of the generic preset.
	Keys []RedisKey
}

// RedisOption is a set of the fields of RedisOptions.
type RedisOption uint

// The fields of RedisOptions.
const (
	RedisPrefix RedisOption = 1 << iota
	RedisQueues
	RedisPriorities // PrioritySteps and Separator
	RedisGroup
	RedisKeys
)

// A RedisKey is one key of a queue of the generic preset, in which {queue} stands for the queue's name.
type RedisKey struct {
	Key string
	// Type is "list", "zset", "set", "hash" or "stream".
	Type string
	// State is what its elements count as: "ready", "running" or "scheduled". Elements of a zset of scheduled jobs
	// count as ready when they are due.
	State string
	// Unit is of a zset's scores that are times: "s", "ms", "us", "ns"; "" where they are none.
	Unit string
}

// A RedisEvent is where a library announces jobs: a channel, a pattern of channels, or a stream. One field is set.
type RedisEvent struct {
	Channel string
	Pattern string
	Stream  string
}

// A RedisAsk is one queue that is to be read.
type RedisAsk struct {
	RedisOptions

	Queue string
	// Now is the server's clock.
	Now time.Time
	// Lookahead makes jobs due within it count as ready.
	Lookahead time.Duration
	// Limit bounds what is read of things that cannot be counted without reading them; 0 is no bound.
	Limit int64
	// Activity says that Ready, Running and NextDue are all that is needed.
	Activity bool
	// RunningMaxAge is how long a running job counts; 0 leaves it to the preset.
	RunningMaxAge time.Duration
}

// Due is the instant up to which a job counts as ready.
func (a *RedisAsk) Due() time.Time { return a.Now.Add(a.Lookahead) }
