package bullmq

import (
	"math"
	"strconv"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/bulljobs"
)

const (
	// perPriority is the scores that a priority has in the set of prioritized jobs; the rest is the job's turn.
	perPriority = 1 << 32
	// mostPriorities is how many priorities are looked into for the oldest job.
	mostPriorities = 10
)

// planAges looks at the first job of each place where ready ones are.
func planAges(a *bulljobs.Ages, base string, c *counts) {
	if c.delayed.Due() > 0 {
		a.Delayed(base + delayedKey)
	}
	if c.waiting() > 0 {
		a.List(base + waitKey)
	}
	if c.prioritized.Int() > 0 {
		planPriorities(a, base+prioritizedKey, "-inf", mostPriorities)
	}
}

// planPriorities looks at the first job of each priority from a score on, one round for each: the jobs that wait longest
// are those of low priority, which are last in the set.
func planPriorities(a *bulljobs.Ages, key, from string, most int) {
	first := a.Reads().ZRangeByScore(key, from, "+inf", 1)
	a.Reads().Then(func() error {
		for _, job := range first.Scores() {
			a.Job(job.Element)
			if most > 1 {
				planPriorities(a, key, nextPriority(job), most-1)
			}
		}
		return nil
	})
}

// nextPriority is the lowest score of the priorities behind that of a job.
func nextPriority(job driver.RedisScore) string {
	return strconv.FormatFloat((math.Floor(job.Score/perPriority)+1)*perPriority, 'f', -1, 64)
}
