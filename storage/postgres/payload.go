package postgres

import (
	"encoding/json"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// queueOf finds the queue that a notification is about: "" when it names none or cannot be read, so that a
// payload in a form of tomorrow costs a look at all queues and loses nothing. A "*" means all as well: so River
// announces that every queue was paused.
func queueOf(form, payload string) string {
	queue := ""
	switch form {
	case "", driver.PayloadNone:
	case driver.PayloadQueue:
		queue = payload
	default:
		queue = lookUp(form, payload)
	}
	if queue == "*" {
		return ""
	}
	return queue
}

// lookUp follows a dot-separated path into a JSON object.
func lookUp(path, payload string) string {
	var at any
	if err := json.Unmarshal([]byte(payload), &at); err != nil {
		return ""
	}
	for key := range strings.SplitSeq(path, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = object[key]
	}
	queue, _ := at.(string)
	return queue
}
