package bullmq

import (
	"math"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// newest is the newest version whose layout is known. Versions 1 and 2 wrote none into meta; what is read of theirs is
// as in 3.
const newest = 6

// meta is a queue's settings.
type meta struct {
	known       bool // there are some
	pro         bool // BullMQ Pro wrote them
	paused      bool
	limited     bool // to concurrency
	concurrency int64
}

// readMeta takes the fields of a queue's meta, in the order in which planQueue asks for them; "" is one that is not there.
func readMeta(key string, fields []string) (meta, error) {
	paused, concurrency, version, events := fields[0], fields[1], fields[2], fields[3]
	if err := checkVersion(key, version); err != nil {
		return meta{}, err
	}
	m := meta{
		known: paused+concurrency+version+events != "", pro: strings.HasPrefix(version, "bullmq-pro"), paused: paused != "",
	}
	// What is no number limits nothing: better a worker too many than none.
	if n, err := strconv.ParseFloat(concurrency, 64); err == nil && math.Abs(n) < math.MaxInt32 {
		m.limited, m.concurrency = true, int64(math.Ceil(n))
	}
	return m, nil
}

// checkVersion refuses versions whose layout is not known. BullMQ Pro and the libraries for other languages have numbers
// of their own, and write another name or none.
func checkVersion(key, version string) error {
	number, ours := strings.CutPrefix(version, "bullmq:")
	major, _, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(major)
	if ours && err == nil && n > newest {
		return driver.Errorf(driver.Schema, "the field %s of key %q says %q, and this leadsman knows BullMQ "+
			"up to version %d: update leadsman", versionField, key, version, newest)
	}
	return nil
}
