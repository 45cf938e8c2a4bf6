package auth_test

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

// holder makes an identity with these queue globs.
func holder(t interface {
	Helper()
	Fatal(...any)
}, queues ...string,
) auth.Identity {
	t.Helper()
	token, sum, err := auth.Mint("x")
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.New(auth.Policy{Tokens: []auth.Token{{Grant: auth.Grant{ID: "x", Queues: queues}, SHA256: sum}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Authenticate(context.Background(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestQueueGlobs(t *testing.T) {
	for _, tc := range []struct {
		glob, name string
		want       bool
	}{
		{"mail", "mail", true},
		{"mail", "mail2", false},
		{"mail-*", "mail-out", true},
		{"mail-*", "mail-", true},
		{"mail-*", "mail", false},
		{"*", "", true},
		{"*-out", "mail-out", true},
		{"*-out", "mail-out-2", false},
		{"a*b*c", "aXbXbXc", true},
		{"a*b*c", "abXcX", false},
		{"mail-?", "mail-é", true},
		{"mail-?", "mail-", false},
		{"*??", "€", false},
		{"a*?", "a*", true},
		{"Mail", "mail", false},
		{"[ab]", "a", false},
	} {
		if got := holder(t, tc.glob).Queue(tc.name); got != tc.want {
			t.Errorf("grant %q: Queue(%q) = %v", tc.glob, tc.name, got)
		}
	}
}

func TestQueuePatternNeedsAGrantThatCoversIt(t *testing.T) {
	for _, tc := range []struct {
		globs, pattern string
		want           bool
	}{
		{"", "", true}, // no limit
		{"", "mail-*", true},
		{"*", "", true},
		{"**", "*", true},
		{"mail-*", "", false},
		{"mail-*", "*", false},
		{"mail-*", "mail-*", true},
		{"mail-*", "mail-a*", true},
		{"mail-*", "mail-?", true},
		{"mail-*", "mail*", false},
		{"mail-?", "mail-*", false},
		{"mail-?", "mail-?", true},
		{"mail-?*", "mail-*?", true}, // the same names, written differently
		{"mail-a", "mail-?", false},
		{"a*b", "a*", false},
		{"a*b", "ax*yb", true},
		{"mail-a mail-b", "mail-?", false},
		{"bill-* mail-*", "mail-out", true},
	} {
		if got := holder(t, strings.Fields(tc.globs)...).QueuePattern(tc.pattern); got != tc.want {
			t.Errorf("grant %q: QueuePattern(%q) = %v", tc.globs, tc.pattern, got)
		}
	}
}

// Whatever name a covered pattern can stand for has to be granted: found by trying names.
func TestCoveredPatternNeverReachesAQueueOutsideTheGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab*?]{0,5}`).Draw(t, "glob")
		pattern := rapid.StringMatching(`[ab*?]{1,5}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[abc]{0,6}`).Draw(t, "name")
		if glob == "" {
			t.Skip("an empty glob matches the empty name only")
		}
		grant, asked := holder(t, glob), holder(t, pattern)
		if grant.QueuePattern(pattern) && asked.Queue(name) && !grant.Queue(name) {
			t.Fatalf("grant %q covers %q, which reaches %q", glob, pattern, name)
		}
	})
}
