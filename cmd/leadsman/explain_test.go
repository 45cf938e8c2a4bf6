package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplitYAML(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        {""},
		"a: 1\n":                  {"a: 1\n"},
		"---\na: 1\n":             {"", "\na: 1\n"},
		"a: 1\n---\nb: 2\n":       {"a: 1\n", "\nb: 2\n"},
		"a: 1\n--- # next\nb: 2":  {"a: 1\n", " # next\nb: 2"},
		"a: 1\n---":               {"a: 1\n", ""},
		"a: |\n  ---\n  x\n":      {"a: |\n  ---\n  x\n"},
		"a: 1\n----\n":            {"a: 1\n----\n"},
		"a: 1\r\n---\r\nb: 2\r\n": {"a: 1\r\n", "\r\nb: 2\r\n"},
	} {
		var got []string
		for _, document := range splitYAML([]byte(text)) {
			got = append(got, string(document))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// FuzzExplainFile reads what anybody may pipe in: it is refused in one line, or it gives triggers without tokens.
func FuzzExplainFile(f *testing.F) {
	f.Add("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec:\n  triggers:\n  - {type: external, metadata: {token: hunter2, queueFromEnv: Q}}\n")
	f.Add("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nspec:\n  jobTargetRef: {template: {spec: {containers: [{name: a, env: [{name: Q, value: x}]}]}}}\n" +
		"  envSourceContainerName: b\n  triggers: [{type: external-push, metadata: {queueFromEnv: Q}}]\n---\nkind: Deployment\n")
	f.Add(`{"kind": "List", "items": [{"kind": "List", "items": []}, 5]}`)
	f.Add("a: &a [*a]\n---\n- \n---\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		all := explainDocuments{others: map[string]bool{}}
		if err := all.add([]byte(text)); err != nil {
			if !strings.HasPrefix(err.Error(), "document ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for _, s := range all.subjects(map[string]string{"Q": "queue"}, "default") {
			for _, trigger := range s.triggers {
				for key := range trigger.metadata {
					if key == "token" || key == "tokenFromEnv" {
						t.Errorf("%s is taken along", key)
					}
					if !utf8.ValidString(key) {
						t.Errorf("%q cannot be sent", key)
					}
				}
			}
		}
	})
}
