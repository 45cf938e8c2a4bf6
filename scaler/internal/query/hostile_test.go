package query

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Metadata come from tenants, with up to a quarter of a megabyte in each call: what they cost is in proportion to that, and
// what is said of them is short. The sizes here are beyond what the server takes.
func TestMetadataCostNoMoreThanTheirSize(t *testing.T) {
	one := func(key, each string) func(n int) map[string]string {
		return func(n int) map[string]string {
			return map[string]string{key: strings.Repeat(each, n/len(each)), "source": "mail"}
		}
	}
	for name, metadata := range map[string]func(n int) map[string]string{
		"queues":          one("queue", "a,"),
		"escapes":         one("queue", `\\`),
		"wildcards":       one("queue", "*?"),
		"a queue":         one("queue", "q"),
		"empty queues":    one("queue", ","),
		"not UTF-8":       one("queue", "\xff"),
		"spaces":          one("queue", " "),
		"digits":          one("target", "9"),
		"zeroes":          one("activation", "0"),
		"hours":           one("linger", "1h"),
		"a name":          one("name", "n-"),
		"a metric":        one("metric", "ready"),
		"a token":         one("token", "ldm_"),
		"a source":        one("source", "mail"),
		"connection":      one("queue", "redis://u:hunter2@h/"),
		"an unknown key":  func(n int) map[string]string { return map[string]string{strings.Repeat("k", n): ""} },
		"a suffix":        func(n int) map[string]string { return map[string]string{strings.Repeat("FromEnv", n/7): ""} },
		"100,000 unknown": func(n int) map[string]string { return many("key%d", n/12) },
		"100,000 secrets": func(n int) map[string]string { return many("redis://u:hunter2@h/%d", n/24) },
	} {
		const size, times = 300_000, 4
		few, many := cost(t, name, metadata(size)), cost(t, name, metadata(times*size))
		if many > 2*times*few+(64<<10) || many > 40*times*size {
			t.Errorf("%s: %d bytes are allocated for %d, and %d for %d", name, few, size, many, times*size)
		}
	}
}

func many(form string, n int) map[string]string {
	all := make(map[string]string, n)
	for i := range n {
		all[fmt.Sprintf(form, i)] = ""
	}
	return all
}

// cost is how many bytes Parse allocates.
func cost(t *testing.T, name string, metadata map[string]string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse(metadata, several)
	runtime.ReadMemStats(&after)
	if err == nil {
		if name != "a token" && name != "zeroes" {
			t.Errorf("%s: taken", name)
		}
	} else if text := err.Error(); len(text) > 4<<10 || strings.Contains(text, "hunter2") {
		t.Errorf("%s: %d bytes are said: %.300s", name, len(text), text)
	}
	return after.TotalAlloc - before.TotalAlloc
}
