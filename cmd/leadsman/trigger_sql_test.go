package main

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// runRoot runs leadsman and returns what it prints.
func runRoot(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// The presets' own tests run these statements, on the tables of each library.
func TestTriggerSQLIsTheReviewedText(t *testing.T) {
	for _, name := range bellPresets() {
		for file, flags := range map[string][]string{"": nil, ".schema": {"--schema", `my "jobs"`}, ".drop": {"--drop"}} {
			if file != "" && name != "delayed_job" && name != "pgmq" {
				continue // they differ from it in what is inserted only
			}
			text, err := runRoot(t, append([]string{"trigger-sql", name}, flags...)...)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.Golden(t, filepath.Join("testdata", "trigger_sql", name+file+".sql"), text)
		}
	}
}

func TestTriggerSQLIsThereForEachLibraryWithoutATriggerOfItsOwn(t *testing.T) {
	own := []string{"graphile_worker", "procrastinate", "que", "sql"}
	var others []string
	for name, preset := range presets {
		if preset.Postgres != nil && !slices.Contains(own, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	if diff := cmp.Diff(others, bellPresets()); diff != "" {
		t.Error(diff)
	}
	for _, name := range append(own, slices.Collect(maps.Keys(presets))...) {
		preset := presets[name]
		if preset.Postgres != nil && preset.Postgres.Bell != nil {
			if preset.Postgres.Bell.Preset != name {
				t.Errorf("the bell of %s calls itself %s", name, preset.Postgres.Bell.Preset)
			}
			continue
		}
		if text, err := runRoot(t, "trigger-sql", name); err == nil || !strings.Contains(err.Error(), name) || text != "" {
			t.Errorf("trigger-sql %s: printed %q, error %v; want an error that says why there is nothing", name, text, err)
		}
	}
}

func TestTriggerSQLRefusesASchemaThatWouldEndItsComments(t *testing.T) {
	if text, err := runRoot(t, "trigger-sql", "river", "--schema", "a\nb"); err == nil || !strings.Contains(err.Error(), "--schema") || text != "" {
		t.Errorf("printed %q, error %v", text, err)
	}
}
