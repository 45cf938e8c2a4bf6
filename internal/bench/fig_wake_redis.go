package main

import (
	"slices"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Of a race on Redis: how long a contender is left alone before a round, in which leadsman has passed on what it heard
// of the last job's end, and how often it looks for itself where nothing tells of changes.
const (
	quietRedis = 60 * time.Millisecond
	edgePoll   = 250 * time.Millisecond
)

// A redisMode is a way for leadsman to notice a job in Redis.
type redisMode struct {
	what   string
	mode   driver.Mode // that is in force
	list   bool        // the jobs are in a list alone; else BullMQ's
	server []storagetest.RedisOption
	rules  []string      // of leadsman's user, beyond everything
	jitter time.Duration // of its contender
}

// What a server refuses, so that leadsman resorts to the next way.
var (
	noTracking = []string{"-client|tracking"}
	noEvents   = []string{"-xread", "-xrevrange"}
)

// redisModes are all ways, from the best to the one that is always there. The library is BullMQ, which announces its
// jobs, but for the list that is compared with the limit as it is.
var redisModes = []redisMode{
	{what: "tracking, a list alone", mode: driver.ModeTracking, list: true},
	{what: "tracking, BullMQ", mode: driver.ModeTracking},
	{what: "events, BullMQ", mode: driver.ModeEvents, rules: noTracking},
	{
		what: "keyspace, BullMQ", mode: driver.ModeKeyspace, rules: slices.Concat(noTracking, noEvents),
		server: []storagetest.RedisOption{storagetest.WithConfig("notify-keyspace-events", "KA")},
	},
	{what: "edge poll, BullMQ", mode: driver.ModeEdgePoll, rules: slices.Concat(noTracking, noEvents), jitter: edgePoll},
}

// listSource is a source whose queues are a list each.
func listSource(url string) map[string]any {
	source := sourceOf(url, "redis")
	source["keys"] = []map[string]any{{"key": "{queue}", "type": "list", "state": "ready"}}
	return source
}

// contend starts a Redis and leadsman over it, and makes sure of the mode.
func (m *redisMode) contend(b *bed) *contender {
	const user = "leadsman"
	server := storagetest.StartRedis(b, m.server...)
	server.AddUser(b, user, user, slices.Concat([]string{"~*", "&*", "+@all"}, m.rules)...)
	url := server.UserURL(user, user)
	c := &contender{jitter: m.jitter}
	var source map[string]any
	if m.list {
		source, c.queue = listSource(url), bareList{b.resp(server)}
	} else {
		source, c.queue = sourceOf(url, "bullmq"), newBullMQ(b, server)
	}
	process := b.leadsmanOver(source, nil)
	client := b.dial(process)
	b.awaitMode(process, client, m.mode)
	c.listen = client.wakes
	return c
}

// measureWakeRedis is leadsman beside one connection that tracks one list, for each way in which leadsman hears of a
// job; beside one that asks before it believes, as leadsman must; and beside one that has a stream to speak on, too.
// Each contender has a server of its own, since tracking heeds no border between logical databases. The clock runs
// from the call, because the invalidation is on its way before the reply.
func measureWakeRedis(b *bed) []row {
	last := len(redisModes) - 1 // it takes so long that the others need not wait for it
	return append(raceRedis(b, pick(b, 300, 20), redisModes[:last]), raceRedis(b, pick(b, 60, 4), redisModes[last:])...)
}

// raceRedis measures some modes and the limits in turns.
func raceRedis(b *bed, rounds int, modes []redisMode) []row {
	bare := func(reads bool) *contender {
		server := storagetest.StartRedis(b)
		tracker := &bareTracker{b.track(server), reads}
		return &contender{listen: tracker.listen, queue: bareList{b.resp(server)}}
	}
	told, asked := bare(false), bare(true)
	server := storagetest.StartRedis(b)
	spoken := &contender{listen: b.dial(b.bare("-redis", server.Addr())).wakes, queue: bareList{b.resp(server)}}
	ours := make([]*contender, len(modes), len(modes)+3)
	for i := range modes {
		ours[i] = modes[i].contend(b)
	}
	race(b, rounds, quietRedis, append(ours, told, asked, spoken)...)
	rows := make([]row, 0, 6*len(modes))
	for i := range modes {
		rows = append(rows, modes[i].rows(ours[i], told, asked, spoken)...)
	}
	return rows
}

func (m *redisMode) rows(ours, told, asked, spoken *contender) []row {
	const against = "bare invalidation"
	line := func(what string, share float64, limit *contender, beyond string, t target) row {
		return row{
			"Redis, " + m.what + ": LPUSH → true, " + what, took(percentile(ours.sinceCall, share)),
			took(percentile(limit.sinceCall, share)), against + beyond, t,
		}
	}
	if m.mode == driver.ModeEdgePoll { // no limit says how long a timer takes
		return []row{
			line("p50", 0.50, told, "", target{}),
			line("p99", 0.99, told, "", atMost(took(edgePoll+50*time.Millisecond), "300 ms")),
		}
	}
	return []row{
		line("p50", 0.50, told, "", ratioAtMost(2)),
		line("p99", 0.99, told, "", target{}),
		line("p50", 0.50, asked, " + LLEN", target{}),
		line("p99", 0.99, asked, " + LLEN", target{}),
		line("p50", 0.50, spoken, " + LLEN + bare stream", target{}),
		line("p99", 0.99, spoken, " + LLEN + bare stream", target{}),
	}
}
