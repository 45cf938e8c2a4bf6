package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
)

var update = flag.Bool("update", false, "write docs/presets.md anew")

// docs/presets.md is made of what the presets say of themselves: their data and their READMEs.
func TestPresetsDocIsCurrent(t *testing.T) {
	const doc = "../../docs/presets.md"
	want := presetsDoc(t)
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/presets.md is not current; write it with: go test ./cmd/leadsman -run PresetsDoc -update (-want +got):\n%s", diff)
	}
}

func presetsDoc(t *testing.T) string {
	t.Helper()
	var table, body strings.Builder
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		readme := readPresetDoc(t, name)
		title, text, _ := strings.Cut(readme, "\n")
		if !strings.HasPrefix(title, "# Preset `"+name+"`") {
			t.Errorf("the README of %s begins with %q", name, title)
		}
		fmt.Fprintf(&table, "| [`%s`](#preset-%s) | %s |\n", name, name, row(name))
		fmt.Fprintf(&body, "\n## Preset `%s`\n%s\n", name, strings.TrimRight(deeper(text), "\n"))
	}
	return `# Presets

What each preset reads, what it counts, how it notices jobs, and which grants it needs. This page is made of the READMEs in
storage/preset; edit those.

| preset | PostgreSQL | SQLite | announced by the library |
|---|---|---|---|
` + table.String() + body.String()
}

func readPresetDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../storage/preset/" + strings.ReplaceAll(name, "_", "") + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// row says where a preset runs, and whether its library tells of new jobs.
func row(name string) string {
	preset := presets[name]
	if name == presetSQL {
		return "yes | yes | with a `listen` block"
	}
	push := "no"
	if preset.Postgres != nil && preset.Postgres.Listen != nil {
		push = "PostgreSQL"
	}
	return fmt.Sprintf("%s | %s | %s", yes(preset.Postgres), yes(preset.SQLite), push)
}

func yes(layout *driver.SQL) string {
	if layout == nil {
		return "no"
	}
	return "yes"
}

// deeper puts the headings of a README one level down; what begins with # in a code block is none.
func deeper(text string) string {
	lines := strings.Split(text, "\n")
	code := false
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case !code && strings.HasPrefix(line, "#"):
			lines[i] = "#" + line
		}
	}
	return strings.Join(lines, "\n")
}
