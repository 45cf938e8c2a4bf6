package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const day = 24 * time.Hour

// Age shows a duration as people say it, to two units: 340ms, 12s, 3m20s, 5h3m, 9d4h, 120d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Age(-d)
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Hour:
		return units(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return units(d, time.Hour, "h", time.Minute, "m")
	case d < 100*day:
		return units(d, day, "d", time.Hour, "h")
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

// units shows d in a big and a small unit, rounded down; what is zero is left out.
func units(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	text := ""
	if n := d / big; n > 0 {
		text = fmt.Sprintf("%d%s", n, bigName)
	}
	if n := d % big / small; n > 0 || text == "" {
		text += fmt.Sprintf("%d%s", n, smallName)
	}
	return text
}

// exactCount is where counts begin to be rounded.
const exactCount = 10_000

// Count shows a number of things, from 10,000 on to three digits: 9999, 12.3k, 4.1M.
func Count(n int64) string {
	if n < exactCount {
		return strconv.FormatInt(n, 10)
	}
	value := float64(n)
	for _, unit := range []string{"k", "M", "G"} {
		if value /= 1000; value < 999.5 || unit == "G" {
			return threeDigits(value) + unit
		}
	}
	return "" // not reached: the last unit takes all
}

func threeDigits(v float64) string {
	if v >= 99.95 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// Number shows a value as short as it is exact: 45, 0.25.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Text makes text from elsewhere fit to be shown: if a terminal could take something in it for a command, or it would
// not stay on its line, it comes escaped, as in a Go string.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
