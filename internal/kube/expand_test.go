package kube

import (
	"strings"
	"testing"
)

func TestAliasesThatMakeLittleAreRead(t *testing.T) {
	for _, text := range []string{
		"a: &a x\nb: *a", "base: &base {min: 1}\nother: {<<: *base, max: 2}", "a: '*b & c'", "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]",
	} {
		if documents := Read([]byte(text)); len(documents) != 1 || documents[0].Err != nil {
			t.Errorf("%q: %v", text, documents[0].Err)
		}
	}
}

func TestAliasesThatMakeMuchOfLittleAreRefused(t *testing.T) {
	var nested strings.Builder
	nested.WriteString("a: &a0 [" + strings.Repeat("x,", 100) + "]\n")
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		nested.WriteString("b" + from + ": &a" + to + " [" + strings.Repeat("*a"+from+",", 20) + "]\n")
	}
	for name, text := range map[string]string{
		"a long text":  "a: &a " + strings.Repeat("x", 50_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]",
		"a long key":   "a: &a " + strings.Repeat("x", 50_000) + "\nb:\n" + strings.Repeat("- *a : 1\n", 10_000),
		"many of many": nested.String(),
		"itself":       "a: &a [*a]",
		"each other":   "a: &a {b: &b [*a, *b]}",
		"merged":       "a: &a {<<: *a}",
	} {
		documents := Read([]byte(text))
		if len(documents) != 1 || documents[0].Err == nil || !strings.Contains(documents[0].Err.Text, "aliases") {
			t.Errorf("%s: %v", name, documents[0].Err)
		}
	}
}
