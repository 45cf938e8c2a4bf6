package page

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubjectsAreReadFromWhateverIsPasted(t *testing.T) {
	mail := map[string]string{"source": "jobs", "queue": "mail-*"}
	for name, tc := range map[string]struct {
		text  string
		paths []string // of the triggers
		want  map[string]string
	}{
		"lines":                 {"source: jobs\nqueue: mail-*\n", []string{""}, mail},
		"lines of equations":    {"source=jobs\n  queue = mail-*", []string{""}, mail},
		"quotes and comments":   {"# of the mailer\nsource: \"jobs\" # the only one\nqueue: 'mail-*' \n", []string{""}, mail},
		"a glob that YAML bars": {"queue: *\ntarget: 10", []string{""}, map[string]string{"queue": "*", "target": "10"}},
		"metadata":              {"metadata:\n  source: jobs\n  queue: mail-*", []string{""}, mail},
		"a trigger":             {"type: external-push\nmetadata:\n  source: jobs\n  queue: mail-*", []string{""}, mail},
		"triggers":              {"triggers:\n- type: external\n  metadata: {source: jobs, queue: mail-*}", []string{"spec.triggers[0]"}, mail},
		"a list of triggers":    {"- type: external\n  metadata: {source: jobs, queue: mail-*}", []string{"spec.triggers[0]"}, mail},
		"a spec":                {"spec:\n  triggers:\n  - type: external\n    metadata: {source: jobs, queue: mail-*}", []string{"spec.triggers[0]"}, mail},
		"a ScaledJob":           {"kind: ScaledJob\nspec:\n  triggers:\n  - type: external\n    metadata: {source: jobs, queue: mail-*}", []string{"spec.triggers[0]"}, mail},
		"among others": {
			"kind: Deployment\nspec: {replicas: 1}\n---\nkind: ScaledObject\nspec:\n  triggers:\n  - type: external\n    metadata: {source: jobs, queue: mail-*}\n---\n",
			[]string{"spec.triggers[0]"},
			mail,
		},
		"a list":         {"kind: List\nitems:\n- kind: ScaledObject\n  spec: {triggers: [{type: external, metadata: {source: jobs, queue: mail-*}}]}", []string{"spec.triggers[0]"}, mail},
		"Windows' lines": {"source: jobs\r\nqueue: mail-*\r\n", []string{""}, mail},
		"from elsewhere": {"source: jobs\nqueue: mail-*\nnameFromEnv: NAME\ntoken: x", []string{""}, mail},
	} {
		got, err := readSubjects(tc.text)
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		var paths []string
		for _, trigger := range got[0].triggers {
			paths = append(paths, trigger.path)
		}
		if diff := cmp.Diff(tc.paths, paths); diff != "" {
			t.Errorf("%s: triggers (-want +got):\n%s", name, diff)
			continue
		}
		if diff := cmp.Diff(tc.want, got[0].triggers[0].metadata); diff != "" || got[0].triggers[0].fault != "" {
			t.Errorf("%s: metadata (-want +got):\n%s%s", name, diff, got[0].triggers[0].fault)
		}
	}
}

// The API server takes text alone.
func TestMetadataThatIsNoTextIsAFaultOfItsKey(t *testing.T) {
	got, err := readSubjects("kind: ScaledObject\nspec:\n  triggers:\n  - type: external\n    metadata: {target: 10}")
	if err != nil {
		t.Fatal(err)
	}
	const want = `spec.triggers[0].metadata.target: must be text; write target: "10"`
	if fault := got[0].triggers[0].fault; fault != want {
		t.Errorf("fault %q, want %q", fault, want)
	}
}

func FuzzSubjects(f *testing.F) {
	f.Add(scaledObject)
	f.Add("queue: *\ntarget=1")
	f.Add("- {type: external, metadata: {a: b}}\n---\nitems: [{kind: ScaledJob}]")
	f.Add(overHTTP)
	f.Add("url: http://a:b@leadsman/api/scaler/mail/x?token=y&api_key=z\nvalueLocation: perQueue.x.ready\ntargetValue: 1e3")
	f.Fuzz(func(t *testing.T, text string) {
		subjects, err := readSubjects(text)
		if (err == nil) == (len(subjects) == 0) {
			t.Errorf("%d subjects, error %v", len(subjects), err)
		}
		for _, s := range subjects {
			for _, trigger := range s.triggers {
				if _, ok := trigger.metadata["token"]; ok {
					t.Error("a token is passed on")
				}
				if trigger.over == nil {
					continue
				}
				if u, err := url.Parse(trigger.over.URL); err != nil || u.User != nil || u.Query().Has("token") || u.Query().Has("api_key") {
					t.Errorf("a token is passed on in %q, %v", trigger.over.URL, err)
				}
			}
		}
	})
}
