package redis

import "time"

// Hurry makes an engine do soon what it does at leisure. Call it before Watch and Read.
func (e *Engine) Hurry() { e.timing.upgrade = 50 * time.Millisecond }

// A Target is what a URL means.
type Target struct {
	Addresses                  []string
	Master, Username, Password string
	DB                         int
}

// ParseURL tells what a URL means.
func ParseURL(text string) (Target, error) {
	t, err := parseURL(text)
	return Target{t.addresses, t.master, t.username, t.password, t.db}, err
}
