package redistest

import (
	"os"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// User makes the user that the ACL SETUSER line of the preset's README.md makes, and returns the server's URL for it.
// The line's password, >…, is replaced.
func User(tb testing.TB, server *storagetest.RedisServer) (url string) {
	tb.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		tb.Fatal(err)
	}
	const password = "secret"
	for line := range strings.Lines(string(readme)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "ACL" || words[1] != "SETUSER" {
			continue
		}
		for i, word := range words {
			if strings.HasPrefix(word, ">") {
				words[i] = ">" + password
			}
		}
		server.Do(tb, words...)
		return server.UserURL(words[2], password)
	}
	tb.Fatal("README.md documents no ACL SETUSER")
	return ""
}
