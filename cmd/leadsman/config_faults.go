package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
)

// A ConfigError is a configuration that cannot be used: each line names a key, its fault and what would be right.
// No line holds a secret.
type ConfigError struct{ Faults []string }

// Error returns the faults, one a line.
func (e *ConfigError) Error() string { return strings.Join(e.Faults, "\n") }

// faults collects what is wrong, so that all of it can be reported together.
type faults struct {
	lines    []string
	warnings []string
	// origin says which flag or variable a key, with all below it, was set by, when it was not the file.
	origin map[string]string
}

func (f *faults) addf(key, format string, args ...any) {
	f.lines = append(f.lines, f.linef(key, format, args...))
}

func (f *faults) warnf(key, format string, args ...any) {
	f.warnings = append(f.warnings, f.linef(key, format, args...))
}

func (f *faults) linef(key, format string, args ...any) string {
	for set, name := range f.origin {
		if key == set || strings.HasPrefix(key, set+".") {
			key = name
			break
		}
	}
	text := key + ": " + fmt.Sprintf(format, args...)
	return strings.ReplaceAll(text, "\n", " ") // one fault, one line
}

// setBy records that a flag or variable has set the key.
func (f *faults) setBy(key, name string) {
	if f.origin == nil {
		f.origin = map[string]string{}
	}
	f.origin[key] = name
}

func (f *faults) err() error {
	if len(f.lines) == 0 {
		return nil
	}
	return &ConfigError{Faults: f.lines}
}

// meant says what a word was probably meant to be, and else what there is.
func meant(word string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	if near := spell.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}
