package query

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parseQueue(tb testing.TB, queue string) Query {
	tb.Helper()
	q, err := Parse(map[string]string{"queue": queue}, one)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

func TestQueuesAreCanonical(t *testing.T) {
	long := strings.Repeat("é", 256)
	for _, tc := range []struct {
		given, queues   string
		patterns, names []string
	}{
		{"mail", "mail", []string{"mail"}, []string{"mail"}},
		{"two words", "two words", []string{"two words"}, []string{"two words"}},
		{"b, a ,b,\n c", "a,b,c", []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		// Case 2: names are byte-exact and never globbed.
		{"Team/Mail", "Team/Mail", []string{"Team/Mail"}, []string{"Team/Mail"}},
		{"{bull}:q:[a]", "{bull}:q:[a]", []string{"{bull}:q:[a]"}, []string{"{bull}:q:[a]"}},
		{`a\,b,c\*,d\?,e\\f`, `a\,b,c\*,d\?,e\\f`, []string{"a,b", "c*", "d?", `e\f`}, []string{"a,b", "c*", "d?", `e\f`}},
		{"mail-*", "mail-*", []string{"mail-*"}, nil},
		{"a,mail-?", "a,mail-?", []string{"a", "mail-?"}, nil},
		{"**?*x", "?*x", []string{"?*x"}, nil},
		{`\*`, `\*`, []string{"*"}, []string{"*"}},
		{"*", "", nil, nil},
		{"a,*", "", nil, nil},
		{"日本", "日本", []string{"日本"}, []string{"日本"}},
		{"\u00a0a", "\u00a0a", []string{"\u00a0a"}, []string{"\u00a0a"}},
		{long, long, []string{long}, []string{long}},
		{strings.Repeat(`\\`, 512), strings.Repeat(`\\`, 512), []string{strings.Repeat(`\`, 512)}, []string{strings.Repeat(`\`, 512)}},
	} {
		t.Run(tc.given, func(t *testing.T) {
			q := parseQueue(t, tc.given)
			if q.Queues != tc.queues {
				t.Errorf("Queues = %q, want %q", q.Queues, tc.queues)
			}
			if diff := cmp.Diff(tc.patterns, q.Patterns()); diff != "" {
				t.Errorf("Patterns: %s", diff)
			}
			names, ok := q.Names()
			if diff := cmp.Diff(tc.names, names); diff != "" || ok != (tc.names != nil) {
				t.Errorf("Names: %v %s", ok, diff)
			}
		})
	}
}

func TestParseTakesAHundredQueues(t *testing.T) {
	list := make([]string, 100)
	for i := range list {
		list[i] = "q" + strconv.Itoa(i)
	}
	if names, ok := parseQueue(t, strings.Join(list, ",")).Names(); !ok || len(names) != 100 {
		t.Errorf("%d names, exact %v", len(names), ok)
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		queue    string
		yes, nay []string
	}{
		{"*", []string{"a", "a/b", "*", "日本"}, nil},
		{"mail", []string{"mail"}, []string{"Mail", "mail ", "mai", "mails", ""}},
		{"a,b", []string{"a", "b"}, []string{"a,b", "c", ""}},
		{`a\,b`, []string{"a,b"}, []string{"a", "b", `a\,b`}},
		{"mail-*", []string{"mail-", "mail-out", "mail-a/b", "mail-*"}, []string{"mail", "xmail-", "Mail-out"}},
		{"*-mail", []string{"-mail", "a-mail", "a-mail-mail"}, []string{"a-mails", "mail"}},
		{"a*b*c", []string{"abc", "aXbYc", "abbcc", "abcbc", "a/b/c"}, []string{"ab", "acb", "abcd"}},
		{"?", []string{"a", "é", "日", "*", "/", "\xff"}, []string{"", "ab", "éé"}},
		{"a?c", []string{"abc", "aéc"}, []string{"ac", "abbc"}},
		{"?*", []string{"a", "日本"}, []string{""}},
		{"*?b", []string{"ab", "éb", "bb", "xxb"}, []string{"b", "ba"}},
		{"*é?", []string{"éx", "aéé"}, []string{"é", "e"}},
		{`\*`, []string{"*"}, []string{"a", "", `\*`}},
		{`a\?*`, []string{"a?", "a?b"}, []string{"ab", "a"}},
		{`\\`, []string{`\`}, []string{`\\`, ""}},
		{`*\\*`, []string{`\`, `a\b`}, []string{"ab"}},
		{"[ab]", []string{"[ab]"}, []string{"a", "b"}},
		{strings.Repeat("*a", 200) + "*b", []string{strings.Repeat("a", 300) + "b"}, []string{strings.Repeat("a", 500)}},
	} {
		q := parseQueue(t, tc.queue)
		for _, name := range tc.yes {
			if !q.Match(name) {
				t.Errorf("%.20q does not match %.20q", tc.queue, name)
			}
		}
		for _, name := range tc.nay {
			if q.Match(name) {
				t.Errorf("%.20q matches %.20q", tc.queue, name)
			}
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	q := parseQueue(t, `a\*,mail-*-x?,b`)
	if n := testing.AllocsPerRun(100, func() { q.Match("mail-out-xyz") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
