package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/storage/driver"
)

// lint reads manifests and reports what is wrong with them.
func (o *doctorOptions) lint(cmd *cobra.Command, cfg *Config, p *show.Printer) error {
	linter := &lint.Linter{Sources: lintSources(cfg), HTTP: lintHTTP(cfg)}
	if o.live {
		if cfg.Embedded {
			return errors.New("--live reads the sources of a configuration, and there is none: name it by --config")
		}
		readQueues(cmd.Context(), cfg.Sources, linter.Sources, cmd.ErrOrStderr())
	}
	names := make([]string, len(o.files))
	for i, name := range o.files {
		data, err := readInput(name, cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(name), err)
		}
		linter.Add(inputName(name), data)
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

// lintHTTP is how the configured server serves HTTP; nil where it does not, or nothing is configured.
func lintHTTP(cfg *Config) *lint.HTTP {
	if cfg.Embedded || cfg.HTTP.Listen == "" {
		return nil
	}
	return &lint.HTTP{
		Locked: !cfg.HTTP.Everybody && len(cfg.Access.Tokens)+len(cfg.Access.Clients) > 0,
		TLS:    cfg.HTTP.TLS != nil,
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
