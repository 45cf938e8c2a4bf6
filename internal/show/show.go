// Package show prints what commands find out: tables for people, JSON and YAML for programs.
//
// What a table shows is rounded (an age of 3m20s, a count of 12.3k) and may change between releases; JSON and YAML are
// exact and keep their keys. Text that came from elsewhere, such as the names of queues, cannot move the cursor or
// colour the screen: see [Text]. Colours are for terminals only, and NO_COLOR (https://no-color.org) turns them off.
//
// The package starts no goroutine and keeps no state between calls.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Format is how a command's output is written.
type Format string

// The formats there are.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide" // a table with every column
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// Formats are all of them, for help and completion.
func Formats() []string {
	return []string{string(FormatTable), string(FormatWide), string(FormatJSON), string(FormatYAML)}
}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", fmt.Errorf("%q is none of %s", name, strings.Join(Formats(), ", "))
	}
	return Format(name), nil
}

// A Printer writes in one format to one place.
type Printer struct {
	out    io.Writer
	format Format
	colour bool
}

// New makes a Printer. getenv is os.Getenv.
func New(out io.Writer, format Format, getenv func(string) string) *Printer {
	return &Printer{out: out, format: format, colour: IsTerminal(out, getenv) && getenv("NO_COLOR") == ""}
}

// IsTerminal tells whether out is a terminal that can do more than print lines.
func IsTerminal(out io.Writer, getenv func(string) string) bool {
	_, ok := terminalHeight(out)
	return ok && getenv("TERM") != "dumb"
}

// Height is how many lines the terminal has; 0 when out is none.
func Height(out io.Writer) int {
	lines, _ := terminalHeight(out)
	return lines
}

// Format returns the printer's.
func (p *Printer) Format() Format { return p.format }

// IsData tells whether programs read the output.
func (p *Printer) IsData() bool { return p.format == FormatJSON || p.format == FormatYAML }

// Data writes v as JSON or YAML. Maps come sorted by key.
func (p *Printer) Data(v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	if p.format == FormatYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	}
	_, err = p.out.Write(data)
	return err
}

// Record writes v as one of many: a line of JSON, or a YAML document with its separator.
func (p *Printer) Record(v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if p.format == FormatYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
		out.WriteString("---\n")
		out.Write(data)
	} else {
		if err := json.Compact(&out, data); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	_, err = out.WriteTo(p.out)
	return err
}

// marshal writes v as indented JSON, < and > as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Linef writes a line of a table's output.
func (p *Printer) Linef(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}

// Paint returns text in a style, if the output shows styles.
func (p *Printer) Paint(style Style, text string) string {
	if !p.colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// A Style is how text looks on a terminal.
type Style string

// The styles there are.
const (
	Plain Style = ""
	Bold  Style = "1"
	Dim   Style = "2"
	Bad   Style = "31" // red
	Good  Style = "32" // green
	Warn  Style = "33" // yellow
)
