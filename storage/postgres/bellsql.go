package postgres

import (
	"cmp"
	_ "embed" // for the templates
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// bellVersion changes with what trigger and reader must agree on.
	bellVersion = 1
	// bellBuckets bound the locks of a reader, whatever queues there are. Queues of the same bucket ring for each other.
	bellBuckets = 64
	// bellStripes keep inserters from taking each other's probes for a reader.
	bellStripes = 8

	bellInsert, bellUpdate = "leadsman_bell_insert", "leadsman_bell_update" // names of triggers
)

// defaultBellSchema is where a bell goes when neither the source nor the preset names a schema.
const defaultBellSchema = "public"

//go:embed bell.sql.tmpl
var bellTemplate string

//go:embed bell_drop.sql.tmpl
var bellDropTemplate string

// BellSQL returns the statements that install the armed bell of a preset on the tables in a schema, "" for the preset's
// own, and public where it has none. They are for a database administrator to read and run; running them again does no
// harm. bell.go tells how the bell works.
func BellSQL(sql driver.SQL, schema string) (string, error) {
	return writeBell(bellTemplate, sql, schema)
}

// BellDropSQL returns the statements that take away what those of [BellSQL] made.
func BellDropSQL(sql driver.SQL, schema string) (string, error) {
	return writeBell(bellDropTemplate, sql, schema)
}

func writeBell(text string, sql driver.SQL, schema string) (string, error) {
	if sql.Bell == nil {
		return "", errors.New("the preset has no bell")
	}
	schema = cmp.Or(schema, sql.Schema, defaultBellSchema)
	if strings.ContainsFunc(schema, unicode.IsControl) {
		return "", fmt.Errorf("the schema's name, %q, holds a control character", schema)
	}
	if err := checkSchema(schema); err != nil {
		return "", err
	}
	funcs := template.FuncMap{"quote": quote, "literal": literal, "escape": escape, "shell": shell}
	t, err := template.New("bell").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, newBellData(*sql.Bell, schema))
	return out.String(), err
}

// bellData is what the templates are filled with.
type bellData struct {
	driver.Bell

	Schema           string
	Version          int
	Buckets, Stripes int
	keys             bellKeys
}

func newBellData(b driver.Bell, schema string) bellData {
	d := bellData{
		Bell: b, Schema: schema, Version: bellVersion, Buckets: bellBuckets, Stripes: bellStripes, keys: keysOf(b.Preset, schema),
	}
	d.Tables = slices.Clone(b.Tables)
	for i := range d.Tables {
		d.Tables[i].Each = reindent(withSchema(d.Tables[i].Each, schema), "    ")
	}
	return d
}

// Function is the trigger's.
func (d bellData) Function() string { return d.In(bellFunction(d.Preset)) }

// Less one, a power of two is a mask.
func (bellData) Less(n int) int { return n - 1 }

// Bucket is an expression over NEW, the key of the first stripe's lock: NULL where the queue is, for the function to tell.
// Each function in a condition is looked up for every statement, so it is as short as can be.
func (d bellData) Bucket() string {
	return fmt.Sprintf("pg_catalog.hashtext((%s)::pg_catalog.text) OPERATOR(pg_catalog.&) %d", d.Queue, bellBuckets-1)
}

// In qualifies a name by the schema.
func (d bellData) In(name string) string { return quote(d.Schema) + "." + quote(name) }

// Tag is a dollar quote that does not occur in the schema's name, which is written between two of them.
func (d bellData) Tag(name string) string {
	for strings.Contains(d.Schema, "$"+name+"$") {
		name += "_"
	}
	return "$" + name + "$"
}

// Comment is by what a reader knows the bell.
func (d bellData) Comment() string {
	return fmt.Sprintf("leadsman bell %d, class %d, channel %s: made by leadsman trigger-sql %s",
		bellVersion, d.keys.class, d.keys.channel, d.Preset)
}

// Class is the first half of the locks' keys.
func (d bellData) Class() uint32 { return d.keys.class }

// Channel is where the bell rings.
func (d bellData) Channel() string { return d.keys.channel }

func bellFunction(preset string) string { return "leadsman_bell_" + preset }

// bellKeys are what a bell's trigger and its readers meet by. They differ between the tables in one database, so that
// one's jobs do not ring for the readers of another.
type bellKeys struct {
	class   uint32 // the first half of the locks' keys; below 2³¹
	channel string
}

func keysOf(preset, schema string) bellKeys {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte("leadsman bell " + preset + " " + schema)) // never fails
	class := sum.Sum32() & (1<<31 - 1)
	return bellKeys{class: class, channel: fmt.Sprintf("%s_%08x", bellFunction(preset), class)}
}

var bellComment = regexp.MustCompile(`^leadsman bell (\d+), class (\d+), channel ([a-z0-9_]+)`)

// readBellComment finds a bell's version and keys in the comment on its function.
func readBellComment(comment string) (version int, keys bellKeys, ok bool) {
	m := bellComment.FindStringSubmatch(comment)
	if m == nil {
		return 0, bellKeys{}, false
	}
	version, verr := strconv.Atoi(m[1])
	class, cerr := strconv.ParseUint(m[2], 10, 31)
	return version, bellKeys{class: uint32(class), channel: m[3]}, verr == nil && cerr == nil
}

// reindent makes each line of a text begin with indent, but the first.
func reindent(text, indent string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n"+indent)
}

// literal makes a string constant of any text, whatever standard_conforming_strings says.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.ContainsRune(text, '\\') {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// escape makes a text fit for format's pattern.
func escape(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// shell makes a word of a command of any text, for people to copy.
func shell(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// maxIdentifier is where PostgreSQL cuts names off, in bytes: what is longer would be another name.
const maxIdentifier = 63

// checkSchema refuses names that no schema has.
func checkSchema(schema string) error {
	switch {
	case strings.ContainsRune(schema, 0):
		return fmt.Errorf("the schema's name, %q, holds a zero byte", schema)
	case len(schema) > maxIdentifier:
		return fmt.Errorf("the schema's name, %q, is longer than PostgreSQL's %d bytes", schema, maxIdentifier)
	case !utf8.ValidString(schema):
		return fmt.Errorf("the schema's name, %q, is not UTF-8", schema)
	}
	return nil
}
