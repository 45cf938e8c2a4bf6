package redis

import "time"

// Hurry makes an engine do soon what it does at leisure. Call it before Watch and Read.
func (e *Engine) Hurry() { e.timing.upgrade = 50 * time.Millisecond }

// ParseURL, for tests of what URLs mean.
func ParseURL(text string) (addresses []string, master, user, password string, db int, err error) {
	t, err := parseURL(text)
	return t.addresses, t.master, t.username, t.password, t.db, err
}
