// Package spell finds the name that was meant: for a key, a source or a queue that nobody knows, the known ones that
// are nearest.
package spell

import (
	"cmp"
	"slices"
	"strings"
)

// longest is where a name is too long to be a slip of the pen, in bytes.
const longest = 64

// Nearest returns the candidate that word was most likely meant to be, whatever the letter case, or "" when none is
// close.
func Nearest(word string, candidates []string) string {
	if near := Near(word, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns at most n candidates that are close to word, the nearest first. Close are those within a few letters,
// more for a longer word, and those that hold word or are held by it.
func Near(word string, candidates []string, n int) []string {
	if word == "" || len(word) > longest {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	lower, most := strings.ToLower(word), min(3, 1+len(word)/4)
	var found []near
	for _, candidate := range candidates {
		if candidate == "" || len(candidate) > longest {
			continue
		}
		other := strings.ToLower(candidate)
		switch d := Distance(lower, other); {
		case d <= most:
			found = append(found, near{candidate, d})
		case len(word) > 2 && len(candidate) > 2 && (strings.Contains(other, lower) || strings.Contains(lower, other)):
			found = append(found, near{candidate, most + d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, 0, n)
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// Distance is the number of bytes to insert, delete or replace to make b of a (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
