package bulljobs

import (
	"slices"
	"strings"
)

// globbed are the characters that mean something in a pattern, and how they stand for themselves.
var globbed = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)

// Glob writes a text for SCAN and PSUBSCRIBE so that it stands for itself.
func Glob(text string) string { return globbed.Replace(text) }

// Near is driver.Redis.Near: a queue is known by the key that ends in one of the given names, all of which begin with
// one of the given letters.
func Near(prefix, letters string, names ...string) (match string, name func(key string) (queue string, ok bool)) {
	return Glob(prefix) + ":*:[" + letters + "]*", func(key string) (string, bool) {
		rest, ok := strings.CutPrefix(key, prefix+":")
		at := strings.LastIndexByte(rest, ':')
		if !ok || at <= 0 || !slices.Contains(names, rest[at+1:]) {
			return "", false
		}
		return rest[:at], true
	}
}
