package auth

import (
	"strings"
	"unicode/utf8"
)

// match tells whether a canonical glob, in which a star stands for any run of characters and a question mark for one
// character, matches the whole text. If text is itself a pattern, in canonical form, match tells whether the glob
// covers it: a star in the text is then met by nothing but a star, and whatever it stands for, the glob's star can
// stand for too. A star or question mark that the text means literally is taken for a wildcard, which errs on the
// side of refusing.
//
// On a mismatch it goes back to the last star only, which is enough, so it takes at most len(glob)*len(text) steps.
func match(glob, text string, isPattern bool) bool {
	g, t := 0, 0
	starG, starT := -1, 0 // behind the last star, and where its run ends so far
	for t < len(text) {
		_, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case g < len(glob) && glob[g] == '*':
			g++
			starG, starT = g, t
		case g < len(glob) && glob[g] == '?' && !(isPattern && text[t] == '*'):
			g, t = g+1, t+size
		case strings.HasPrefix(glob[g:], text[t:t+size]):
			g, t = g+size, t+size
		case starG >= 0:
			_, size = utf8.DecodeRuneInString(text[starT:])
			starT += size
			g, t = starG, starT
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// canonical orders each run of wildcards, question marks first and then at most one star, so that two globs for the
// same names read the same.
func canonical(glob string) string {
	var b strings.Builder
	star := false
	for _, c := range []byte(glob) {
		if c == '*' {
			star = true
			continue
		}
		if star && c != '?' {
			b.WriteByte('*')
			star = false
		}
		b.WriteByte(c)
	}
	if star {
		b.WriteByte('*')
	}
	return b.String()
}
