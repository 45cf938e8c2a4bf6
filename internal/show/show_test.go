package show

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func noEnv(string) string { return "" }

func TestTableAlignsColumnsByWhatIsShown(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "QUEUE"}, {Name: "READY", Right: true}, {Name: "MORE", Wide: true}, {Name: "STATE"}}}
	table.Add(Cell{Text: "mail"}, Cell{Text: "12.3k"}, Cell{Text: "m"}, Cell{"active", Good})
	table.Add(Cell{Text: "naïve-日本"}, Cell{Text: "0"}, Cell{}, Cell{})
	table.Add(Cell{Text: "a\x1b[2Jb\n"}, Cell{Text: "1"}, Cell{}, Cell{Text: "idle"})
	for format, want := range map[Format]string{
		FormatTable: `
QUEUE         READY   STATE
mail          12.3k   active
naïve-日本          0   -
a\x1b[2Jb\n       1   idle
`,
		FormatWide: `
QUEUE         READY   MORE   STATE
mail          12.3k   m      active
naïve-日本          0   -      -
a\x1b[2Jb\n       1   -      idle
`,
	} {
		var out bytes.Buffer
		if err := New(&out, format, noEnv).Table(table); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[1:], out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

func TestColoursMoveNoColumn(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "A"}, {Name: "B", Right: true}, {Name: "C"}}}
	table.Add(Cell{"x", Good}, Cell{"22", Bad}, Cell{"last", Dim})
	table.Add(Cell{"long", Plain}, Cell{"1", Warn}, Cell{"", Bold})
	plain := (&Printer{format: FormatTable}).Lines(table)
	coloured := (&Printer{format: FormatTable, colour: true}).Lines(table)
	if strings.Join(plain, "\n") == strings.Join(coloured, "\n") {
		t.Fatal("there are no colours")
	}
	for i, line := range coloured {
		for _, style := range []Style{Bold, Dim, Bad, Good, Warn, "0"} {
			line = strings.ReplaceAll(line, "\x1b["+string(style)+"m", "")
		}
		if line != plain[i] {
			t.Errorf("line %d is %q without colours, want %q", i, line, plain[i])
		}
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "7µs": 7 * time.Microsecond, "999ms": time.Second - 1, "1s": time.Second, "59s": time.Minute - 1,
		"1m": time.Minute, "3m20s": 200 * time.Second, "59m59s": time.Hour - 1, "1h": time.Hour, "5h3m": 5*time.Hour + 3*time.Minute + 59*time.Second,
		"23h59m": day - 1, "1d": day, "9d4h": 9*day + 4*time.Hour + 30*time.Minute, "120d": 120*day + time.Hour, "-12s": -12 * time.Second,
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 9999: "9999", 10_000: "10k", 12_345: "12.3k", 99_949: "99.9k", 99_950: "100k", 100_000: "100k", 999_499: "999k",
		999_500: "1M", 4_123_456: "4.1M", 5_000_000_000: "5G", math.MaxInt64: "9223372037G", -5: "-5",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestNumberIsExact(t *testing.T) {
	for want, v := range map[string]float64{"45": 45, "0.25": 0.25, "9000000000000000": 9e15} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %s", v, got)
		}
	}
}

// Names of queues are anybody's text: none may act on a terminal or leave its line.
func TestTextIsAlwaysOnePrintableLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\x1b[2J", "\r\n", "\x00", "\xff", "\u202e", "\u2028"}).Draw(t, "sign")
		shown := Text(s)
		if strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown as %q", s, shown)
		}
	})
	for _, s := range []string{"mail-*", "naïve", "日本", `a"b\c`, "with space"} {
		if got := Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}

func TestMessageHasNumbersForCounts(t *testing.T) {
	workers := int64(3)
	tree, err := Message(&leadsmanv1.ListQueuesResponse{Queues: []*leadsmanv1.Queue{{
		Name: "mail", Ready: math.MaxInt64, Oldest: durationpb.New(90 * time.Second), Workers: &workers,
	}}, Total: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"queues": []any{map[string]any{
			"source": "", "name": "mail", "known": false, "ready": json.Number("9223372036854775807"), "running": json.Number("0"),
			"scheduled": json.Number("0"), "saturated": false, "oldest": "90s", "paused": false, "workers": json.Number("3"), "staleReason": "",
		}},
		"nextPageToken": "", "total": json.Number("1"),
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Error(diff)
	}
}

func TestDataIsReadBackAsItWas(t *testing.T) {
	want := map[string]any{"text": "a <b> & \x1b", "list": []any{}, "number": 1.5, "yes": "no"}
	for _, format := range []Format{FormatJSON, FormatYAML} {
		for name, write := range map[string]func(*Printer) error{
			"data":   func(p *Printer) error { return p.Data(want) },
			"record": func(p *Printer) error { return p.Record(want) },
		} {
			var out bytes.Buffer
			if err := write(New(&out, format, noEnv)); err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", format, name, diff)
			}
			if lines := strings.Count(out.String(), "\n"); format == FormatJSON && name == "record" && lines != 1 {
				t.Errorf("a record has %d lines", lines)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, name := range Formats() {
		if got, err := ParseFormat(name); err != nil || string(got) != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml is no format")
	}
}

func TestABufferIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	if IsTerminal(&out, noEnv) || Height(&out) != 0 || New(&out, FormatTable, noEnv).colour {
		t.Error("a buffer passes for a terminal")
	}
}
