package manifest_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/internal/manifest"
)

// matcher is the part of a query of Prometheus that picks queues, and what it picks.
var matcher = regexp.MustCompile(`,queue=(~?)("(?:[^"\\]|\\.)*")`)

// picks tells whether the query of a spec's queues picks a name, as Prometheus would: regular expressions are anchored.
func picks(t *testing.T, queue, name string) bool {
	t.Helper()
	out := text(t, good+"mode: prometheus\nprometheus: {url: http://p}\nqueue: "+strconv.QuoteToASCII(queue)+"\n")
	var got object
	document(t, out, &got)
	found := matcher.FindStringSubmatch(got.Spec.Triggers[0].Metadata["query"])
	if found == nil {
		return true // all of them
	}
	value, err := strconv.Unquote(found[2])
	if err != nil {
		t.Fatal(err)
	}
	if found[1] == "" {
		return value == name
	}
	return regexp.MustCompile(`^(?s:` + value + `)$`).MatchString(name)
}

// The query of Prometheus picks the queues that leadsman would.
func TestQueryPicksTheQueuesOfThePattern(t *testing.T) {
	for _, tc := range []struct {
		queue     string
		yes, none []string
	}{
		{"mail", []string{"mail"}, []string{"mail2", "Mail", ""}},
		{"mail-*", []string{"mail-", "mail-a/b"}, []string{"mail", "xmail-a"}},
		{"a?c", []string{"abc", "a.c", "aüc"}, []string{"ac", "abbc"}},
		{"a.c", []string{"a.c"}, []string{"abc"}},
		{"a.c,b*", []string{"a.c", "b", "bb"}, []string{"abc", "a.cb", "xb"}},
		{`a\*b\,c`, []string{"a*b,c"}, []string{"axb,c", "a"}},
		{`q"uo\\te,x`, []string{`q"uo\te`, "x"}, []string{"q"}},
		{"日本,(a|b)+", []string{"日本", "(a|b)+"}, []string{"a", "日"}},
		{"*", []string{"a", ""}, nil},
		{"a,*", []string{"a", "zzz"}, nil},
	} {
		for _, name := range tc.yes {
			if !picks(t, tc.queue, name) {
				t.Errorf("%q does not pick %q", tc.queue, name)
			}
		}
		for _, name := range tc.none {
			if picks(t, tc.queue, name) {
				t.Errorf("%q picks %q", tc.queue, name)
			}
		}
	}
}

// FuzzParse reads anything. What is no fault becomes objects that are YAML, with the queue as it was.
func FuzzParse(f *testing.F) {
	for _, spec := range matrix() {
		f.Add(spec)
	}
	f.Add(good + "queue: [\"on\", '1e3', 0123, \"a\\\"b\"]\n")
	f.Add(good + "linger: 5m\n---\n- &a [*a]\n---\n{worker: *a}\n")
	f.Add(goodJob + "        0000: x\n        00: y\n")
	f.Fuzz(func(t *testing.T, spec string) {
		specs, err := manifest.Parse(manifest.File{Name: "f", Data: []byte(spec)})
		if err != nil {
			if !utf8.ValidString(spec) {
				return
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f:") || !utf8.ValidString(line) {
					t.Errorf("fault %q", line)
				}
			}
			return
		}
		out := strings.Split(text(t, spec), "\n---\n")
		for _, document := range out {
			var decoded map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &decoded); err != nil {
				t.Fatalf("%v:\n%s", err, document)
			}
		}
		if len(specs) != 1 || specs[0].Mode != manifest.ModeExternalPush || specs[0].Queue == "" {
			return
		}
		var got object
		if err := yaml.Unmarshal([]byte(out[len(out)-1]), &got); err != nil || got.Spec.Triggers[0].Metadata["queue"] != specs[0].Queue {
			t.Errorf("%v: queue %q became %q", err, specs[0].Queue, got.Spec.Triggers[0].Metadata["queue"])
		}
	})
}
