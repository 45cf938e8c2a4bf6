package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// shownQueues bounds the queues that are shown.
const shownQueues = 8

// queues reports which queues there are, and those that were named.
func (x *sourceExam) queues(sample storage.Sample) {
	var known []driver.Queue
	for i := range sample.Queues {
		if sample.Queues[i].Known {
			known = append(known, sample.Queues[i])
		}
	}
	slices.SortFunc(known, func(a, b driver.Queue) int { return strings.Compare(a.Name, b.Name) })
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].Name
	}
	x.listed(sample, known)
	for _, want := range x.request.Wants {
		if want.Queue != "" {
			x.named(sample, want, names)
		}
	}
}

// listed reports the queues that the library lists.
func (x *sourceExam) listed(sample storage.Sample, known []driver.Queue) {
	if err := sample.Failed[driver.Want{}]; err != nil {
		failure := asFailure(err)
		level := driver.LevelFail
		if failure.Kind == driver.Schema { // the library has no list, which only a trigger without queue minds
			level = driver.LevelNote
		}
		found, remedy := splitRemedy(failure.Message)
		x.add("queues", level, found, remedy)
		return
	}
	if len(known) == 0 {
		x.add("queues", driver.LevelNote, "none is known yet",
			"enqueue a job; if there should be some, see whether database, schema and prefix are the library's")
		return
	}
	var parts []string
	for i := range known[:min(len(known), shownQueues)] {
		parts = append(parts, described(&known[i]))
	}
	if more := len(known) - shownQueues; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	x.add("queues", driver.LevelOK, fmt.Sprintf("%d: %s", len(known), strings.Join(parts, ", ")), "")
	if slices.ContainsFunc(known, func(q driver.Queue) bool { return q.Saturated }) {
		x.add("counts", driver.LevelNote, fmt.Sprintf("some queue holds more than countLimit, %s, where counting stops",
			show.Count(x.request.Limit)), "where more replicas than that divided by the target are wanted, raise sampling.countLimit")
	}
}

// described is a queue in a few words.
func described(q *driver.Queue) string {
	text := fmt.Sprintf("%s (%s ready, %s running", q.Name, show.Count(q.Ready), show.Count(q.Running))
	if q.Paused {
		text += ", paused"
	}
	return text + ")"
}

// named reports a queue that was asked for.
func (x *sourceExam) named(sample storage.Sample, want driver.Want, names []string) {
	check := "queue " + want.Queue
	if err := sample.Failed[want]; err != nil {
		found, remedy := splitRemedy(asFailure(err).Message)
		x.add(check, driver.LevelFail, found, remedy)
		return
	}
	i := slices.IndexFunc(sample.Queues, func(q driver.Queue) bool { return q.Name == want.Queue })
	if i >= 0 && sample.Queues[i].Known {
		x.add(check, driver.LevelOK, described(&sample.Queues[i]), "")
		return
	}
	remedy := "enqueue a job to it, or correct the name: letter case counts"
	if near := spell.Near(want.Queue, names, 3); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, ", ") + "?"
	}
	x.add(check, driver.LevelWarn, "the source holds no trace of it, so its value is 0", remedy)
}
