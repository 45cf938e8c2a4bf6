package query

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The bounds of values.
const (
	// minNumber is KEDA's resolution: it sends values to the HPA in thousandths, and a target that becomes 0 there
	// makes the HPA fail.
	minNumber = 0.001
	// maxNumber is the greatest value leadsman returns: below 2^53, so that it is exact as a float and as an int.
	maxNumber = 9e15

	maxDuration = 24 * time.Hour
)

// either returns the number given by k or by its synonym, or the default when neither is there. When both are, they
// must be equal.
func (p *parser) either(k, synonym key, byDefault float64) float64 {
	value, ok := p.number(k)
	other, otherOK := p.number(synonym)
	switch {
	case ok && otherOK && value != other:
		p.reject(k, "differs from "+strconv.Quote(p.given[synonym].spelled)+
			", which means the same; keep one of them")
	case ok:
		return value
	case otherOK:
		return other
	}
	return byDefault
}

// number returns the number given by k and true, or 0 and false when it is absent or, which is a fault, wrong.
func (p *parser) number(k key) (float64, bool) {
	text, ok := p.get(k)
	if !ok {
		return 0, false
	}
	least := minNumber
	if k == keyActivation || k == keyActivationQueueDepth {
		least = 0
	}
	value, ok := decimal(text)
	switch {
	case !ok:
		p.fault(k, quote(text)+" is no decimal number")
	case value < least:
		p.fault(k, quote(text)+" is too small")
	case value > maxNumber:
		p.fault(k, quote(text)+" is too great")
	default:
		return value + 0, true // turns -0, which is equal to 0 but prints otherwise, into 0
	}
	return 0, false
}

// decimal parses a number such as 5, 0.5 or 1e3. What else strconv knows (hexadecimal, underscores, Inf, NaN) would
// be a mistake in a trigger. A number beyond float64 comes back infinite.
func decimal(text string) (float64, bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return 0, false
		}
	}
	value, err := strconv.ParseFloat(text, 64)
	// With this alphabet, a range error is the only one that comes with a value other than 0.
	return value, err == nil || value != 0
}

func (p *parser) boolean(k key, byDefault bool) bool {
	text, ok := p.get(k)
	switch {
	case !ok:
		return byDefault
	case strings.EqualFold(text, "true"):
		return true
	case strings.EqualFold(text, "false"):
		return false
	}
	p.fault(k, quote(text)+" is neither true nor false")
	return byDefault
}

// duration returns the duration given by k, or 0.
func (p *parser) duration(k key) time.Duration {
	text, ok := p.get(k)
	if !ok {
		return 0
	}
	d, ok := span(text)
	switch {
	case !ok:
		p.fault(k, quote(text)+" is no duration")
	case d < 0:
		p.fault(k, quote(text)+" is negative")
	case d > maxDuration:
		p.fault(k, quote(text)+" is longer than 24h")
	default:
		return d
	}
	return 0
}

// span parses a Go duration or a number of seconds. One that is out of bounds comes back out of bounds.
func span(text string) (time.Duration, bool) {
	if seconds, ok := decimal(text); ok {
		// Clamped first: a float beyond int64 converts to anything.
		seconds = min(max(seconds, -1), 2*maxDuration.Seconds())
		return time.Duration(math.Round(seconds * float64(time.Second))), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// lookahead is a duration that not every source can honour.
func (p *parser) lookahead(source Source) time.Duration {
	d := p.duration(keyLookahead)
	if d > 0 && source.NoLookahead {
		p.reject(keyLookahead, "source "+strconv.Quote(source.Name)+
			" cannot count jobs that are due soon; remove the key")
	}
	return d
}
