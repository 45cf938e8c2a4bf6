package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
)

// queuesOf are the queues that a source has, and whether that is known.
func (l *Linter) queuesOf(source string) ([]string, bool) {
	i := slices.IndexFunc(l.Sources, func(s Source) bool { return s.Name == source })
	if i < 0 || l.Sources[i].Queues == nil {
		return nil, false
	}
	return l.Sources[i].Queues, true
}

// checkQueues finds queues that a trigger asks for and its source has no trace of. The library may make them with their first
// job, so it may be right.
func (l *Linter) checkQueues(o *object, t *readTrigger) {
	queues, known := l.queuesOf(t.query.Source)
	if !t.ok || !known {
		return
	}
	names, all := t.query.Names()
	for _, name := range names {
		if !slices.Contains(queues, name) {
			o.unknownQueue(t.at("queue"), name, queues)
		}
	}
	if !all && t.query.Queues != "" && !slices.ContainsFunc(queues, t.query.Match) {
		o.warn(t.at("queue"), "the source has no queue that "+strings.Join(t.query.Patterns(), ", ")+" means, so the value is 0",
			knownQueues(queues))
	}
}

// unknownQueue says that a queue is not there, and which may have been meant.
func (o *object) unknownQueue(path, name string, queues []string) {
	remedy := knownQueues(queues)
	if near := spell.Near(name, queues, 3); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, ", ") + "?"
	}
	o.warn(path, "the source holds no trace of queue "+strconv.Quote(clip(name))+", so its value is 0", remedy)
}

// shownQueues bounds the queues that a remedy lists.
const shownQueues = 8

func knownQueues(queues []string) string {
	if len(queues) == 0 {
		return "enqueue a job; the source has no queue yet"
	}
	text := "enqueue a job to it, or write one that is there: " + strings.Join(queues[:min(len(queues), shownQueues)], ", ")
	if more := len(queues) - shownQueues; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
