// Package epoch reads the times that job libraries keep in Redis as numbers: scores of sorted sets and fields of jobs.
// They come from outside, so that a number that is no time is an answer, and not an error or a date of another age.
package epoch

import (
	"math"
	"strconv"
	"time"
)

// bound is the first instant that is no time of a job any more: the year 5138, in seconds.
const bound = 1e11

// Time reads a number of units since 1970, such as a score; false when that is no time of a job.
func Time(n float64, unit time.Duration) (time.Time, bool) {
	perSecond := float64(time.Second / unit)
	seconds := math.Floor(n / perSecond)
	if !(seconds >= 0 && seconds < bound) { // not so either when it is no number at all
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), int64((n-seconds*perSecond)*float64(unit))), true
}

// Parse reads a number of seconds, milliseconds, microseconds or nanoseconds since 1970; which of them it is, its size
// tells. false when it is none.
func Parse(text string) (time.Time, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, false
	}
	for range 3 { // of finer units
		if n >= bound {
			n /= 1000
		}
	}
	return Time(n, time.Second)
}

// Seconds writes a time as whole seconds since 1970, rounded down, for the bound of a range of scores.
func Seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// Millis writes a time as whole milliseconds since 1970, rounded down.
func Millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
