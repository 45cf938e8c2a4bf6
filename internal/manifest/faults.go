package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
)

// An Error is a spec that nothing can be made of. Each fault names the file, the line, the key, and what would be right.
type Error struct{ Faults []string }

// Error returns the faults, one a line.
func (e *Error) Error() string { return strings.Join(e.Faults, "\n") }

// faults collects what is wrong, so that all of it can be said together.
type faults struct {
	file  string // that is being read
	found []fault
}

type fault struct {
	at   place
	text string
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

// String is as editors take it.
func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (f *faults) addf(line int, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	f.found = append(f.found, fault{place{f.file, line}, strings.Join(strings.Fields(text), " ")})
}

// err returns what was found, by line, or nil.
func (f *faults) err() error {
	if len(f.found) == 0 {
		return nil
	}
	slices.SortStableFunc(f.found, func(a, b fault) int {
		if a.at.file != b.at.file {
			return 0 // files stay in the order in which they were given
		}
		return cmp.Compare(a.at.line, b.at.line)
	})
	texts := make([]string, len(f.found))
	for i, fault := range f.found {
		texts[i] = fault.at.String() + ": " + fault.text
	}
	return &Error{Faults: texts}
}

// meant says what a word was probably meant to be, and else what there is.
func meant(word string, known []string) string {
	if near := spell.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}
