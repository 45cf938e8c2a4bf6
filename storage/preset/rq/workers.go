package rq

import "github.com/leadsman/leadsman/storage/driver"

const mostWorkers = 1000 // that are looked at

// planPool reads the workers of a queue, by the key of their set. Each runs one job at a time. The hash of one that died
// expires, while its key stays in the set until somebody cleans that.
func planPool(r *driver.RedisReads, key string, q *driver.Queue) {
	keys := r.SMembers(key)
	r.Then(func() error {
		if keys.Err == nil { // refused, they are unknown, which is not none
			planWorkers(r, keys.Texts(), q)
		}
		return nil
	})
}

func planWorkers(r *driver.RedisReads, keys []string, q *driver.Queue) {
	keys = keys[:min(mostWorkers, len(keys))]
	workers := make([]*driver.RedisReply, 0, len(keys))
	for _, key := range keys {
		workers = append(workers, r.HMGet(key, "birth", "death"))
	}
	r.Then(func() error {
		q.Pool = pool(workers)
		return nil
	})
}

// pool adds up; nil when a worker was refused.
func pool(workers []*driver.RedisReply) *driver.Pool {
	var p driver.Pool
	for _, worker := range workers {
		if worker.Err != nil {
			return nil
		}
		if born := worker.Texts(); len(born) == 2 && born[0] != "" && born[1] == "" {
			p.Workers++
			p.Capacity++
		}
	}
	return &p
}
