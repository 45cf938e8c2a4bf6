package flexiq

import (
	"strconv"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

const (
	// deadAfter is how long FlexiQ takes a worker for alive after its last heartbeat.
	deadAfter = 30 * time.Second
	// mostWorkers are looked at.
	mostWorkers = 1000
)

// planWorkers reads the live workers of a queue, and passes them to found; all is false when there are more workers than
// were looked at. The registry is the same for all queues, so that it is read once, and taken apart once.
func planWorkers(r *driver.RedisReads, ask *driver.RedisAsk, found func(pool driver.Pool, all bool)) {
	ids := r.SMembers(ask.Prefix + "workers:all")
	r.Then(func() error {
		all := len(ids.Texts()) <= mostWorkers
		looked := ids.Texts()[:min(mostWorkers, len(ids.Texts()))]
		workers := make([]*driver.RedisReply, len(looked))
		for i, id := range looked {
			workers[i] = r.HMGet(ask.Prefix+"worker:"+id, "last_heartbeat", "queues", "threads")
		}
		r.Then(func() error {
			pools := driver.Derived(ids, func(*driver.RedisReply) map[string]driver.Pool { return poolsOf(workers, ask.Now) })
			found(pools[ask.Queue], all)
			return nil
		})
		return nil
	})
}

// poolsOf adds up the live workers of each queue.
func poolsOf(workers []*driver.RedisReply, now time.Time) map[string]driver.Pool {
	pools := map[string]driver.Pool{}
	for _, worker := range workers {
		fields := worker.Texts()
		if len(fields) < 3 {
			continue
		}
		beat, ok := epoch.Parse(fields[0])
		if !ok || now.Sub(beat) > deadAfter {
			continue
		}
		threads, _ := strconv.ParseInt(fields[2], 10, 32)
		for queue := range strings.SplitSeq(fields[1], ",") {
			pool := pools[queue]
			pool.Workers++
			pool.Capacity += max(0, threads)
			pools[queue] = pool
		}
	}
	return pools
}
