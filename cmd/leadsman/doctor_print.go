package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/storage/driver"
)

// A doctorFinding is a finding as programs read it. The keys stay.
type doctorFinding struct {
	File     string       `json:"file,omitempty"`
	Document int          `json:"document,omitempty"`
	Line     int          `json:"line,omitempty"`
	Object   string       `json:"object,omitempty"`
	Key      string       `json:"key,omitempty"`
	Check    string       `json:"check,omitempty"`
	Level    driver.Level `json:"level"`
	Found    string       `json:"found"`
	Remedy   string       `json:"remedy,omitempty"`
}

type doctorSource struct {
	Name     string          `json:"name"`
	Engine   string          `json:"engine"`
	Preset   string          `json:"preset"`
	Location string          `json:"location,omitempty"`
	Findings []doctorFinding `json:"findings"`
}

// printReports writes what was found out about sources.
func printReports(p *show.Printer, reports []sourceReport) error {
	if p.IsData() {
		out := make([]doctorSource, len(reports))
		for i := range reports {
			r := &reports[i]
			out[i] = doctorSource{Name: r.source.Name, Engine: r.source.Engine, Preset: r.source.Preset, Location: r.location}
			for _, f := range r.findings {
				out[i].Findings = append(out[i].Findings, doctorFinding{Check: f.Check, Level: f.Level, Found: f.Found, Remedy: f.Remedy})
			}
		}
		return p.Data(map[string]any{"sources": out})
	}
	for i := range reports {
		if err := printReport(p, &reports[i], i > 0); err != nil {
			return err
		}
	}
	return nil
}

func printReport(p *show.Printer, r *sourceReport, gap bool) error {
	if gap {
		if err := p.Linef(""); err != nil {
			return err
		}
	}
	c := r.source
	title := fmt.Sprintf("%s: %s by %s", c.Name, c.Preset, c.Engine)
	if r.location != "" {
		title += " at " + r.location
	}
	if err := p.Linef("%s", p.Paint(show.Bold, show.Text(title))); err != nil {
		return err
	}
	rows := make([]checked, len(r.findings))
	for i, f := range r.findings {
		rows[i] = checked{what: f.Check, level: f.Level, found: f.Found, remedy: f.Remedy}
	}
	return printChecks(p, "CHECK", rows)
}

// printLint writes the findings of manifests, object by object.
func printLint(p *show.Printer, findings []lint.Finding) error {
	if p.IsData() {
		out := make([]doctorFinding, len(findings))
		for i, f := range findings {
			out[i] = doctorFinding{
				File: f.File, Document: f.Document, Line: f.Line, Object: f.Object, Key: f.Key, Level: f.Level, Found: f.Found,
				Remedy: f.Remedy,
			}
		}
		return p.Data(map[string]any{"findings": out})
	}
	for i := 0; i < len(findings); {
		title := lintTitle(&findings[i])
		var rows []checked
		first := i
		for ; i < len(findings) && lintTitle(&findings[i]) == title; i++ {
			f := &findings[i]
			rows = append(rows, checked{f.Line, f.Key, f.Level, f.Found, f.Remedy})
		}
		if first > 0 {
			if err := p.Linef(""); err != nil {
				return err
			}
		}
		if err := p.Linef("%s", p.Paint(show.Bold, show.Text(title))); err != nil {
			return err
		}
		if err := printChecks(p, "KEY", rows); err != nil {
			return err
		}
	}
	return nil
}

// lintTitle says where an object is.
func lintTitle(f *lint.Finding) string {
	title := fmt.Sprintf("%s, document %d", f.File, f.Document)
	if f.Object != "" {
		title += ": " + f.Object
	}
	return title
}

// A checked is a row of doctor's table.
type checked struct {
	line          int // of a file; 0 for none
	what          string
	level         driver.Level
	found, remedy string
}

var levelStyles = map[driver.Level]show.Style{
	driver.LevelOK: show.Good, driver.LevelNote: show.Dim, driver.LevelWarn: show.Warn, driver.LevelFail: show.Bad,
}

// printChecks writes a table, and below each of its rows what to do.
func printChecks(p *show.Printer, what string, rows []checked) error {
	columns := []show.Column{{Name: "LEVEL"}, {Name: what}, {Name: "FOUND"}}
	lined := slices.ContainsFunc(rows, func(row checked) bool { return row.line > 0 })
	if lined {
		columns = slices.Insert(columns, 1, show.Column{Name: "LINE", Right: true})
	}
	table := &show.Table{Columns: columns}
	for _, row := range rows {
		cells := []show.Cell{{Text: string(row.level), Style: levelStyles[row.level]}, {Text: row.what}, {Text: row.found}}
		if lined {
			cells = slices.Insert(cells, 1, show.Cell{Text: strconv.Itoa(row.line)})
		}
		table.Add(cells...)
	}
	lines := p.Lines(table)
	if err := p.Linef("  %s", lines[0]); err != nil {
		return err
	}
	for i, row := range rows {
		if err := p.Linef("  %s", lines[i+1]); err != nil {
			return err
		}
		if row.remedy == "" {
			continue
		}
		if err := p.Linef("  %s%s", strings.Repeat(" ", len("LEVEL   ")), "→ "+show.Text(row.remedy)); err != nil {
			return err
		}
	}
	return nil
}
