package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// docs/presets.md is made of what the presets say of themselves: their data and their READMEs. It is written anew with:
// go test ./cmd/leadsman -run PresetsDoc -update.
func TestPresetsDocIsCurrent(t *testing.T) {
	storagetest.Golden(t, "../../docs/presets.md", presetsDoc(t))
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

| preset | PostgreSQL | SQLite | Redis | new jobs are noticed by |
|---|---|---|---|---|
` + table.String() + body.String()
}

func readPresetDoc(t *testing.T, name string) string {
	t.Helper()
	folder := strings.NewReplacer("_", "", "-", "").Replace(name)
	if name == "redis" {
		folder = "rediskeys" // the engine has the name
	}
	data, err := os.ReadFile("../../storage/preset/" + folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// row says where a preset runs, and how new jobs are noticed.
func row(name string) string {
	preset := presets[name]
	if name == presetSQL {
		return "yes | yes | | with a `listen` block"
	}
	var push []string
	if sql := preset.Postgres; sql != nil && sql.Listen != nil {
		push = append(push, "its own NOTIFY")
	}
	if sql := preset.Postgres; sql != nil && sql.Bell != nil {
		push = append(push, "`leadsman trigger-sql`")
	}
	if preset.SQLite != nil {
		push = append(push, "file events")
	}
	if preset.Redis != nil {
		push = append(push, "tracking")
	}
	return fmt.Sprintf("%s | %s | %s | %s",
		yes(preset.Postgres != nil), yes(preset.SQLite != nil), yes(preset.Redis != nil), strings.Join(push, ", "))
}

func yes(runs bool) string {
	if runs {
		return "yes"
	}
	return ""
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
