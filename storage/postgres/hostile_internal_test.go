package postgres

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
)

// FuzzRing takes what anybody may NOTIFY on a bell's channel, and say in the comment on a function.
func FuzzRing(f *testing.F) {
	for _, payload := range []string{"0", "63", "64", "-1", "+5", "", "5 ", "0x1", "99999999999999999999", "{}", "5\x00"} {
		f.Add(payload, "")
	}
	d := newBellData(driver.Bell{Preset: "odd"}, `a"b`)
	f.Add("7", d.Comment())
	f.Add("7", "leadsman bell 1, class 4294967296, channel x")
	f.Add("7", "leadsman bell 99999999999999999999, class 1, channel a")
	f.Add("7", "leadsman bell 1, class 1, channel a\"; DROP TABLE x; --")
	channel := regexp.MustCompile(`^[a-z0-9_]+$`)
	f.Fuzz(func(t *testing.T, payload, comment string) {
		if n, ok := bucketOf(payload); ok && (n < 0 || n >= bellBuckets || bucket(n) == 0) {
			t.Errorf("payload %q is of bucket %d", payload, n)
		}
		if _, keys, ok := readBellComment(comment); ok && (keys.class >= 1<<31 || !channel.MatchString(keys.channel)) {
			t.Errorf("comment %q leads to class %d, channel %q", comment, keys.class, keys.channel)
		}
	})
}

// A payload has 8,000 bytes at the most, and what is made of it is bounded too, for all that gzip can pack into them.
func TestAPayloadCostsABoundedMemory(t *testing.T) {
	bomb := pack(t, strings.Repeat("[", 5<<20))
	for name, payload := range map[string]string{
		"digits":          `{"queue":` + strings.Repeat("9", 8000) + "}",
		"brackets":        strings.Repeat("[", 8000),
		"objects":         strings.Repeat(`{"queue":`, 888),
		"keys":            `{` + strings.Repeat(`"a":1,`, 1300) + `"queue":"mail"}`,
		"packed brackets": "Z:" + bomb,
		"packed objects":  "Z:" + pack(t, strings.Repeat(`{"queue":`, 60<<10/9)),
		"not UTF-8":       "{\"queue\":\"" + strings.Repeat("\xff", 7000) + "\"}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = queueOf("queue", payload)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 40*maxUnpacked {
			t.Errorf("%s: %d bytes are allocated for a payload of %d", name, used, len(payload))
		}
	}
}
