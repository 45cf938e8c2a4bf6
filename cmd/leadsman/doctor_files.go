package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/storage/driver"
)

// lint reads manifests and reports what is wrong with them.
func (o *doctorOptions) lint(cmd *cobra.Command, cfg *Config, p *show.Printer) error {
	linter := &lint.Linter{Sources: lintSources(cfg)}
	names := make([]string, len(o.files))
	for i, name := range o.files {
		data, err := readInput(name, cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(name), err)
		}
		addDocuments(linter, inputName(name), data)
		names[i] = inputName(name)
	}
	if linter.Empty() {
		return fmt.Errorf("%s: there is no ScaledObject, ScaledJob or HorizontalPodAutoscaler", strings.Join(names, ", "))
	}
	findings := linter.Findings()
	if err := printLint(p, findings); err != nil {
		return err
	}
	levels := make([]driver.Level, len(findings))
	for i, f := range findings {
		levels[i] = f.Level
	}
	return o.verdict(p, levels)
}

// addDocuments gives the linter every document of a file. What stands before the first --- and is no more than a comment is
// no document.
func addDocuments(linter *lint.Linter, name string, data []byte) {
	number := 0
	for _, document := range splitYAML(data) {
		raw, err := yaml.YAMLToJSONStrict(document)
		if err == nil && number == 0 && string(raw) == "null" {
			continue
		}
		number++
		if err != nil {
			text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
			linter.Fault(name, number, errors.New(strings.Join(strings.Fields(text), " ")))
			continue
		}
		linter.Add(name, number, raw)
	}
}

// lintSources are those of the configuration; nil where there is none, and so nothing to hold a trigger's source against.
func lintSources(cfg *Config) []lint.Source {
	if cfg.Embedded {
		return nil
	}
	sources := make([]lint.Source, len(cfg.Sources))
	for i := range cfg.Sources {
		c := &cfg.Sources[i]
		preset := presets[c.Preset]
		static := c.Preset == presetSQL ||
			c.Engine == enginePostgres && preset.Postgres != nil && preset.Postgres.Static ||
			c.Engine == engineSQLite && preset.SQLite != nil && preset.SQLite.Static
		sources[i] = lint.Source{Name: c.Name, NoLookahead: static, CountLimit: c.Sampling.CountLimit}
	}
	return sources
}
