// Package time is the standard library's, over which this file is laid: a wall clock that can be put off.
package time

import "sync/atomic"

// off is how many seconds the wall clock is put off. The monotonic clock does not know of it.
var off atomic.Int64

// PutOff puts the wall clock off what the kernel says.
func PutOff(seconds int64) { off.Store(seconds) }
