package show

import (
	"strings"
	"unicode/utf8"
)

// A Column is one of a table.
type Column struct {
	Name  string
	Right bool // aligned so, as numbers are
	Wide  bool // shown in FormatWide only
}

// A Cell is a text in a table. Its text is made fit for a terminal, and "-" where it is empty.
type Cell struct {
	Text  string
	Style Style
}

// Cells makes plain ones.
func Cells(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i] = Cell{Text: text}
	}
	return cells
}

// A Table is columns and rows of as many cells.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// gap stands between columns.
const gap = "   "

// Table writes the table with its columns aligned. A table without rows is its heading alone.
func (p *Printer) Table(t *Table) error {
	var lines strings.Builder
	for _, line := range p.Lines(t) {
		lines.WriteString(line + "\n")
	}
	_, err := p.out.Write([]byte(lines.String()))
	return err
}

// Lines returns the lines of a table, the heading first, without line ends.
func (p *Printer) Lines(t *Table) []string {
	head := make([]Cell, len(t.Columns))
	for i, column := range t.Columns {
		head[i] = Cell{column.Name, Dim}
	}
	rows := append([][]Cell{head}, t.Rows...)
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.shown()))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = p.line(t.Columns, widths, row)
	}
	return lines
}

func (p *Printer) line(columns []Column, widths []int, row []Cell) string {
	var line strings.Builder
	pending := "" // white space that is written once something follows it
	for i, cell := range row {
		if columns[i].Wide && p.format != FormatWide {
			continue
		}
		text := cell.shown()
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if columns[i].Right {
			pending += pad
		}
		line.WriteString(pending + p.Paint(cell.Style, text))
		pending = gap
		if !columns[i].Right {
			pending = pad + gap
		}
	}
	return line.String()
}

func (c Cell) shown() string {
	if c.Text == "" {
		return "-"
	}
	return Text(c.Text)
}
