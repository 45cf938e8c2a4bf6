package kube_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/internal/kube"
)

// titles are what a stream holds, by the numbers of its documents; a fault stands in its place.
func titles(text string) []string {
	var all []string
	for _, d := range kube.Read([]byte(text)) {
		for _, o := range d.Objects {
			all = append(all, strings.TrimSpace(o.Title()))
		}
		if d.Err != nil {
			all = append(all, d.Err.Error())
		}
		if d.Err == nil && len(d.Objects) == 0 {
			all = append(all, "nothing")
		}
	}
	return all
}

func TestReadFindsTheObjectsOfAStream(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                                      nil,
		"# a comment\n":                                         nil,
		"kind: A\n":                                             {"A"},
		"# a comment\n---\nkind: A\n":                           {"A"},
		"kind: A\n---\n# a comment\n---\n":                      {"A", "nothing", "nothing"},
		"kind: A\n---\nkind: B\n":                               {"A", "B"},
		"kind: A\n--- # next\nkind: B":                          {"A", "B"},
		"kind: A\r\n---\r\nkind: B\r\n":                         {"A", "B"},
		"kind: A\ntext: |\n  ---\n  x\n":                        {"A"},
		"kind: A\n----\n":                                       {"document 1, line 3: could not find expected ':'"},
		"kind: A\nmetadata: {name: a}":                          {"A a"},
		`{"kind": "A"}`:                                         {"A"},
		"{\n\t\"kind\": \"A\"\n}":                               {"A"},
		"kind: List\nitems: []":                                 {"nothing"},
		"kind: List\n":                                          {"List"},
		"kind: AList\nitems: [{kind: A}]":                       {"A"},
		"items: [{kind: A}, {kind: B}]":                         {"A", "B"},
		"kind: Other\nitems: of any shape":                      {"Other"},
		"kind: A\n---\n- a\n":                                   {"A", "document 2, line 3: what is to be an object must not be an array"},
		"kind: List\nitems:\n- kind: A\n- 5\n":                  {"A", "document 1, line 4: what is to be an object must not be a number"},
		"kind: List\nitems: 5\n":                                {"document 1, line 2: the items of a List must be a list"},
		"a: 1\n---\nb: 2\nkind: [\n":                            {"", "document 2, line 4: did not find expected node content"},
		"kind: A\n---\nkind: B\nx: 1\nkind: C":                  {"A", `document 2, line 5: key "kind" already set in map`},
		"kind: A\nb: *nobody\n":                                 {"document 1: unknown anchor 'nobody' referenced"},
		"kind: List\nitems: [{kind: List, items: [{kind: A}]}]": {"A"},
	} {
		if diff := cmp.Diff(want, titles(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

const scaledJob = `# The encoder.
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: encoder
  annotations:
    autoscaling.keda.sh/paused: "true"
spec:
  maxReplicaCount: 10
  triggers:
    - type: cpu
      metadata: {value: "80"}
    - type: external
      metadata:
        queue: video
        a.b: c
        a: x
`

func TestKeysHaveTheirLines(t *testing.T) {
	t.Parallel()
	o := kube.Read([]byte(scaledJob))[0].Objects[0]
	for key, want := range map[string]int{
		"":                            3,
		"spec.maxReplicaCount":        10,
		"spec.triggers":               11,
		"spec.triggers[0]":            12,
		"spec.triggers[1].type":       14,
		"spec.triggers[1].metadata":   15,
		"spec.triggers[1].metadata.a": 18,
		// A key that holds a dot, one in brackets, and those that are not there.
		"spec.triggers[1].metadata.a.b":                    17,
		"metadata.annotations[autoscaling.keda.sh/paused]": 8,
		"spec.triggers[1].metadata.target":                 15,
		"spec.triggers[2].type":                            11,
		"spec.fallback.replicas":                           9,
	} {
		if got := o.Line(key); got != want {
			t.Errorf("%s is on line %d, want %d", key, got, want)
		}
	}
}

// YAML begins a line at characters at which no editor does.
func TestLinesAreThoseOfLineFeeds(t *testing.T) {
	t.Parallel()
	const text = "# a\r# b\u0085# c\u2028# d\u2029# e\r\nkind: A\r\nspec: {}\n---\n#\u2028#\nkind: B\n---\n#\u2029#\nkind: [\n"
	all := kube.Read([]byte(text))
	first, second, broken := all[0].Objects[0], all[1].Objects[0], all[2].Err
	for name, line := range map[string][2]int{
		"the first's spec":  {first.Line("spec"), 3},
		"the second's kind": {second.Line("kind"), 6},
		"what is no YAML":   {broken.Line, 9},
	} {
		if line[0] != line[1] {
			t.Errorf("%s is on line %d, want %d", name, line[0], line[1])
		}
	}
}

func TestItemsOfAListHaveTheirLines(t *testing.T) {
	t.Parallel()
	list := kube.Read([]byte("kind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    replicas: 3\n"))[0].Objects
	if got := list[1].Line("spec.replicas"); got != 6 {
		t.Errorf("line %d, want 6", got)
	}
}

func TestAValueOfTheWrongTypeHidesNoOther(t *testing.T) {
	t.Parallel()
	text := strings.Replace(scaledJob, "maxReplicaCount: 10", "maxReplicaCount: many", 1)
	o := kube.Read([]byte(text))[0].Objects[0]
	want := &kube.TypeError{Key: "spec.maxReplicaCount", Is: "a string", Want: "an integer without quotes"}
	if diff := cmp.Diff(want, o.Wrong); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(o.Spec.Triggers) != 2 || o.Raw["maxReplicaCount"] != "many" || o.Line(o.Wrong.Key) != 10 {
		t.Errorf("read %+v at line %d, raw %v", o.Spec, o.Line(o.Wrong.Key), o.Raw)
	}
}

// kubectl's YAML is 1.1, where a word without quotes may be a boolean.
func TestValuesAreWhatKubectlMakesOfThem(t *testing.T) {
	t.Parallel()
	text := "kind: ScaledObject\nspec: {triggers: [{metadata: {a: no, b: 'no', c: 010, d: 1e3, e: , f: 12345678901234567}}]}"
	got := kube.Read([]byte(text))[0].Objects[0].Spec.Triggers[0].Metadata
	texts := map[string]string{}
	for key, value := range got {
		texts[key] = strings.TrimSpace(cmp.Diff(nil, value))
		switch v := value.(type) {
		case string:
			texts[key] = "text " + v
		case nil:
			texts[key] = "nothing"
		case bool:
			texts[key] = map[bool]string{false: "false", true: "true"}[v]
		case interface{ String() string }:
			texts[key] = v.String()
		}
	}
	want := map[string]string{"a": "false", "b": "text no", "c": "8", "d": "1000", "e": "nothing", "f": "12345678901234567"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever anybody pipes in, each document is objects or one line that says where it is none.
func FuzzRead(f *testing.F) {
	f.Add([]byte(scaledJob))
	f.Add([]byte("a: &a [*a]\n---\n- \n---\n\""))
	f.Add([]byte(`{"kind": "List", "items": [{"kind": "List", "items": []}, 5]}`))
	f.Add([]byte("kind: A\nb: &b {c: 1}\nspec: {<<: *b, c: 2}\n--- !!x\n\t"))
	f.Add([]byte("\r\r\r00:"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := 1 + bytes.Count(text, []byte("\n"))
		for i, d := range kube.Read(text) {
			if d.Number != i+1 {
				t.Errorf("document %d is number %d", i+1, d.Number)
			}
			if d.Err != nil && (strings.ContainsAny(d.Err.Text, "\r\n") || d.Err.Document != d.Number) {
				t.Errorf("document %d: %q", d.Number, d.Err)
			}
			for _, o := range d.Objects {
				for _, key := range []string{"", "kind", "spec.triggers[0].metadata.queue", "[", "spec..a[b]"} {
					if line := o.Line(key); line < 0 || line > lines {
						t.Errorf("%s is on line %d of %d", key, line, lines)
					}
				}
			}
		}
	})
}
