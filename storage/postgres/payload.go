package postgres

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
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
	if err := json.Unmarshal(unpack(payload), &at); err != nil {
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

// maxUnpacked bounds what a packed payload may unpack to. PostgreSQL's own bound is 8,000 bytes, packed.
const maxUnpacked = 64 << 10

// unpack undoes the packing of JSON by gzip and Base64, which Oban marks with "Z:", or did not mark at first, so that
// it shows by gzip's own first bytes. No JSON begins like either. It returns nil for what it cannot unpack.
func unpack(payload string) []byte {
	packed, marked := strings.CutPrefix(payload, "Z:")
	if !marked && !strings.HasPrefix(packed, "H4sI") {
		return []byte(payload)
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil || len(text) > maxUnpacked {
		return nil
	}
	return text
}
