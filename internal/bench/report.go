package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// A report is what is printed.
type report struct {
	head   []string // the machine, the command
	rows   []row
	failed []string
}

var columns = []string{"figure", "ours", "limit", "ratio", "target", "", "the limit is"}

// cells are the rows as text, below the columns.
func (r *report) cells() [][]string {
	all := append(make([][]string, 0, 1+len(r.rows)), columns)
	for i := range r.rows {
		row := &r.rows[i]
		all = append(all, []string{
			row.what, row.ours.String(), row.limit.String(), row.ratio(), row.target.text, row.verdict(), row.against,
		})
	}
	return all
}

// rightAligned says which columns are numbers.
func rightAligned(column int) bool { return column >= 1 && column <= 4 }

// text is the report for a terminal.
func (r *report) text() string {
	cells := r.cells()
	widths := make([]int, len(columns))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range append(r.head, "") {
		b.WriteString(line + "\n")
	}
	for _, line := range cells {
		var text strings.Builder
		for i, cell := range line {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if rightAligned(i) {
				text.WriteString(gap + cell + "  ")
			} else {
				text.WriteString(cell + gap + "  ")
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	for _, line := range r.failed {
		b.WriteString("\n" + line + "\n")
	}
	return b.String()
}

// markdown is the report for the README.
func (r *report) markdown() string {
	var b strings.Builder
	for i, line := range r.cells() {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i > 0 {
			continue
		}
		for column := range columns {
			if rightAligned(column) {
				b.WriteString("|--:")
			} else {
				b.WriteString("|---")
			}
		}
		b.WriteString("|\n")
	}
	for _, line := range append(r.failed, strings.Join(r.head, "; ")+".") {
		b.WriteString("\n" + line + "\n")
	}
	return b.String()
}

// describe says on what the figures were measured, and how.
func describe(b *bed, args []string) []string {
	var postgres string
	b.withConn(b.cluster().SuperuserURL(), func(conn *pgx.Conn) {
		b.must(conn.QueryRow(b.ctx, "SHOW server_version").Scan(&postgres))
	})
	postgres, _, _ = strings.Cut(postgres, " ")
	command := "make bench"
	if len(args) > 0 {
		command += fmt.Sprintf(" ARGS='%s'", strings.Join(args, " "))
	}
	return []string{
		fmt.Sprintf("%s, %d cores, %s/%s, %s, PostgreSQL %s, Redis %s, load %s before the start",
			processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), postgres, redisVersion(b.ctx), loadAverage()),
		"measured by: " + command,
	}
}

// redisVersion is what the installed server says of itself: "Redis server v=7.0.15 sha=…".
func redisVersion(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		return "unknown"
	}
	_, version, _ := strings.Cut(string(text), "v=")
	version, _, _ = strings.Cut(version, " ")
	return version
}

// processor is the name of the CPU's model, where the system tells.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

// loadAverage is the load over the last minute, where the system tells: what else was going on.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
