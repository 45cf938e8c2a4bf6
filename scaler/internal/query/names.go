package query

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// The name of a metric goes into the HPA behind KEDA's "s<index>-", is lower-cased on its way, and is refused with a
// '/' or '%'. So it has the alphabet of a DNS label, differs wherever source, queues or metric differ, and depends on
// nothing else: a target can be tuned without the HPA taking the metric for another.
//
//	queue-mail--invoices--ready                  source mail, queue invoices: each part as it is
//	queue-mail--team-mail--ready-qe37qret5x      queue team/mail: a slug, and a hash to tell it from team-mail
//	queue-mail--all--ready-7p2zikzxvc            all queues
//
// A part that is lower-case letters and digits with single inner dashes stands for itself. When anything else is
// among them, or the name gets too long, the name ends in a hash of the exact source, queues and metric. Both kinds
// are distinct, since a bare metric holds no dash. These names live in HPAs: a change here breaks them.

const (
	maxName    = 63 // bytes
	namePrefix = "queue-"
	separator  = "--"
	hashSize   = 10 // characters of 5 bits
)

// metricName derives the name of a metric.
func metricName(source, queues string, metric Metric) string {
	size := len(namePrefix) + len(source) + len(separator) + len(queues) + len(separator) + len(metric)
	if size <= maxName && clean(source) && clean(queues) {
		return namePrefix + source + separator + queues + separator + string(metric)
	}
	label := queues
	if queues == "" {
		label = "all"
	}
	room := maxName - len(namePrefix) - 2*len(separator) - len(metric) - len("-") - hashSize
	var fromRoom, ofRoom, nameRoom [maxName]byte // keep this off the heap
	from, of := appendSlug(fromRoom[:0], source, room), appendSlug(ofRoom[:0], label, room)
	if len(from)+len(of) > room {
		from = shorten(from, max(room/2, room-len(of)))
		of = shorten(of, room-len(from))
	}
	name := append(nameRoom[:0], namePrefix...)
	name = append(append(name, from...), separator...)
	name = append(append(name, of...), separator...)
	name = append(append(name, metric...), '-')
	return string(appendHash(name, source, queues, metric))
}

// clean tells whether part is letters and digits in lower case with single inner dashes.
func clean(part string) bool {
	dash := true // the start counts as one: no dash may follow
	for i := range len(part) {
		if part[i] == '-' && dash || part[i] != '-' && !alphanumeric(part[i]) {
			return false
		}
		dash = part[i] == '-'
	}
	return !dash
}

// appendSlug appends to an empty b a clean part of at most limit bytes that reminds of text.
func appendSlug(b []byte, text string, limit int) []byte {
	dash := false
	for i := 0; i < len(text) && len(b) < limit; i++ {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !alphanumeric(c) {
			dash = len(b) > 0
			continue
		}
		if dash {
			b = append(b, '-')
			dash = false
		}
		b = append(b, c)
	}
	if b = shorten(b, limit); len(b) == 0 {
		b = append(b, 'x')
	}
	return b
}

// shorten cuts a slug to limit bytes, one or more, so that it is still clean.
func shorten(slug []byte, limit int) []byte {
	return bytes.TrimSuffix(slug[:min(len(slug), limit)], []byte("-"))
}

// lowerBase32 has five bits a character, so that it needs no upper case.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// appendHash appends hashSize characters that stand for exactly these three. Lengths keep them apart.
func appendHash(b []byte, source, queues string, metric Metric) []byte {
	var room [256]byte
	text := room[:0]
	for _, part := range [...]string{source, queues, string(metric)} {
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(text, ':')
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	var encoded [2 * sha256.Size]byte
	lowerBase32.Encode(encoded[:], sum[:])
	return append(b, encoded[:hashSize]...)
}

func alphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// validName tells whether a name that was given may be used as it is.
func validName(name string) bool {
	for i := range len(name) {
		if !alphanumeric(name[i]) && name[i] != '-' {
			return false
		}
	}
	n := len(name)
	return n > 0 && n <= maxName && name[0] != '-' && name[n-1] != '-'
}

// SameName tells whether the metric name of a GetMetrics request means the trigger's own metric. Letter case does
// not matter, an index such as "s0-" may stand before it, and none at all means the only one there is.
func SameName(requested, own string) bool {
	return requested == "" || strings.EqualFold(requested, own) || strings.EqualFold(withoutIndex(requested), own)
}

// withoutIndex takes one "s<digits>-" off the start of name.
func withoutIndex(name string) string {
	index, rest, ok := strings.Cut(name, "-")
	if !ok || len(index) < 2 || index[0]|0x20 != 's' {
		return name
	}
	for i := 1; i < len(index); i++ {
		if index[i] < '0' || index[i] > '9' {
			return name
		}
	}
	return rest
}
