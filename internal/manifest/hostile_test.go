package manifest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/internal/manifest"
)

// shape is what a document is made of, without its texts: its keys, and the kinds of its values.
func shape(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, each := range v {
			out[key] = shape(each)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			out[i] = shape(each)
		}
		return out
	default:
		return fmt.Sprintf("%T", value)
	}
}

// shapes are those of all documents that a spec becomes; nil for a spec with a fault.
func shapes(t *testing.T, spec string) (all []any) {
	t.Helper()
	if _, err := manifest.Parse(manifest.File{Name: "f", Data: []byte(spec)}); err != nil {
		return nil
	}
	for document := range strings.SplitSeq(text(t, spec), "\n---\n") {
		var decoded any
		if err := yaml.UnmarshalStrict([]byte(document), &decoded); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		all = append(all, shape(decoded))
	}
	return all
}

// Whatever a queue is called, it is a text in what is written, and adds no key, no comment and no document to it.
func TestNamesAreNeverYAML(t *testing.T) {
	parts := []string{
		"\n", "\r\n", "\t", "---", "\n---\n", "...", ": ", "#", " #", "- ", "? ", "{", "}", "[", "]", "&a", "*", "!!binary", "|", ">", "'", `"`, "%YAML", "@", "`",
		"\\", "<<", "null", "yes", "0x1f", "1e3", ".nan", "~", "=", "\u2028", "\u0085", "\ufeff", "日", "{{ .Values }}", "{{", "$(x)", "${x}", "kind", "a", " ",
	}
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(parts), rapid.StringN(1, 3, -1)), 1, 8).Draw(t, "parts"), "")
	})
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		base, queue := rapid.SampledFrom(matrix()).Draw(rt, "spec"), name.Draw(rt, "queue")
		base = strings.Replace(base, "release: p", "release: "+strconv.QuoteToASCII(name.Draw(rt, "label")), 1)
		got := shapes(t, base+"queue: "+strconv.QuoteToASCII(queue)+"\n")
		if got == nil {
			return // refused
		}
		taken++
		if diff := cmp.Diff(shapes(t, base+"queue: plain\n"), got); diff != "" {
			rt.Errorf("queue %q changes what is written (-plain +odd):\n%s", queue, diff)
		}
	})
	if taken == 0 {
		t.Error("every name was refused")
	}
}
