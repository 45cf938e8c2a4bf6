package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

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
