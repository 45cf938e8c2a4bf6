package postgres

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
)

// pack is what Oban does to a payload that is long.
func pack(tb testing.TB, text string) string {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

func TestPayloadNamesItsQueue(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := map[string]struct{ form, payload, queue string }{
		"queue":              {driver.PayloadQueue, "mail", "mail"},
		"queue, all":         {driver.PayloadQueue, "*", ""},
		"none":               {driver.PayloadNone, "mail", ""},
		"path":               {"queue", `{"queue":"mail"}`, "mail"},
		"deep path":          {"a.b", `{"a":{"b":"mail"}}`, "mail"},
		"marked":             {"queue", "Z:" + pack(t, `{"queue":"mail"}`), "mail"},
		"unmarked":           {"queue", pack(t, `{"queue":"mail"}`), "mail"},
		"no JSON":            {"queue", "mail", ""},
		"a number":           {"queue", `{"queue":7}`, ""},
		"an array":           {"queue", `["mail"]`, ""},
		"no Base64":          {"queue", "Z:{}", ""},
		"no gzip":            {"queue", "Z:" + base64.StdEncoding.EncodeToString([]byte(`{"queue":"mail"}`)), ""},
		"cut off":            {"queue", pack(t, `{"queue":"mail"}`)[:24], ""},
		"a bomb":             {"queue", pack(t, `{"queue":"mail","x":"`+long+`"}`), ""},
		"a queue like gzip":  {driver.PayloadQueue, "H4sIx", "H4sIx"},
		"a queue like a tag": {driver.PayloadQueue, "Z:x", "Z:x"},
	}
	for name, tt := range tests {
		if got := queueOf(tt.form, tt.payload); got != tt.queue {
			t.Errorf("%s: got %q, want %q", name, got, tt.queue)
		}
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(`{"queue":"mail"}`)
	f.Add("Z:" + pack(f, `{"queue":"mail"}`))
	f.Add(pack(f, `{"queue":"mail"}`))
	f.Add("Z:H4sIAAAAAAAA")
	f.Fuzz(func(t *testing.T, payload string) {
		if n := len(unpack(payload)); n > max(maxUnpacked, len(payload)) {
			t.Errorf("unpacked %d bytes to %d", len(payload), n)
		}
		queueOf("queue", payload)
	})
}
