package auth

import (
	"sync"
	"time"
)

// A limiter lets one log line through per interval and counts the rest, so that a client that fails in a loop
// cannot fill a disk.
type limiter struct {
	every time.Duration

	mu     sync.Mutex
	next   time.Time
	missed int
}

// allow tells whether a line may be written now, and how many were held back since the last one.
func (l *limiter) allow() (missed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		l.missed++
		return 0, false
	}
	missed, l.missed, l.next = l.missed, 0, now.Add(l.every)
	return missed, true
}
