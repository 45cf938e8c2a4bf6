package driver

import "context"

// An Examiner is a Reader that can tell more of its backend than a reading holds: what an operator wants to know once, and
// a server need not know at each read. The ability is optional; "leadsman doctor" asks for it.
type Examiner interface {
	// Examine connects as Read does and looks at what the preset reads, without reading a queue and without changing
	// anything. What it cannot find out for want of a permission is a finding that says so. Its error means that the
	// backend cannot be reached or does not let this user in, and is of the kinds that Read's is.
	//
	// It may cost the backend more than a read, and must be bounded all the same. It returns promptly after ctx is done.
	Examine(ctx context.Context) ([]Finding, error)
}

// A Finding is one thing that was looked at, and what there is to do about it. No field holds a secret.
type Finding struct {
	// Check is what was looked at, in a word or two, such as "row-level security".
	Check string
	Level Level
	// Found is what there is, in a clause for people.
	Found string
	// Remedy is what to do, a statement to copy where there is one; "" where nothing needs to be done.
	Remedy string
}

// A Level says how much a finding matters.
type Level string

// The levels, the gravest last.
const (
	LevelOK   Level = "ok"
	LevelNote Level = "note" // worth knowing; nothing is wrong
	LevelWarn Level = "warn" // it works, and is hardly meant so, or not for long
	LevelFail Level = "fail" // it does not work
)
