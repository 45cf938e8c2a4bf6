package postgres

import "time"

// Hurry makes watching retry and doubt sooner than a test would like to wait for.
func (e *Engine) Hurry() {
	e.timing = timing{
		backoffMin: 5 * time.Millisecond, backoffMax: 50 * time.Millisecond, retry: 200 * time.Millisecond,
		silence: 300 * time.Millisecond, canary: time.Second,
	}
}
