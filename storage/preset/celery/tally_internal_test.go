package celery

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAddressIsReadFromTheEnd(t *testing.T) {
	for text, want := range map[string]address{
		`[{"a":"b"}, "", "mail"]`:                   {"", "mail"},
		`[{},"jobs","mail.now"]` + "\n":             {"jobs", "mail.now"},
		`[{}, "", "\u65e5\"\\"]`:                    {"", `日"\`},
		`["x", "y\\", "z"]`:                         {`y\`, "z"},
		`[1, "", ""]`:                               {},
		`["` + strings.Repeat(`\"`, 9) + `","",""]`: {},
	} {
		if got, ok := addressOf(text); !ok || got != want {
			t.Errorf("%s: %q, %t, want %q", text, got, ok, want)
		}
	}
}

func TestWhatHasNoAddressHasNone(t *testing.T) {
	for _, text := range []string{
		"", "]", `"]`, `""]`, `"",]`, `,""]`, `[{}, null, "mail"]`, `[{}, "", null]`, `[{}, "" "mail"]`, `{"a":"b"}`,
		`[{}, "", "\q"]`, `[{}, "", "` + strings.Repeat("x", longestName+2) + `"]`, strings.Repeat(`\`, 1<<16) + `"]`,
	} {
		if got, ok := addressOf(text); ok {
			t.Errorf("%.40s: %q", text, got)
		}
	}
}

// A binding is in the database, where anybody may have put it.
func TestPatternsAreThoseThatKombuWrites(t *testing.T) {
	for _, pattern := range []string{`^mail\..*?$`, `^.*?$`, `^mail\.[^\.]*?\.now$`, `^a\{2\}$`} {
		if compile(pattern) == nil {
			t.Errorf("%s is not understood", pattern)
		}
	}
	for _, pattern := range []string{
		"(a{1000}){1000}", `\\{1000}`, "(?:x{2,900}){900}", "(?<=x)", "(", strings.Repeat("(", 5000), "\xff",
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if compile(pattern) != nil {
				t.Errorf("%.20q is taken for one of Kombu's", pattern)
			}
		})
		if allocated > 100+float64(len(pattern)) {
			t.Errorf("%.20q: %g allocations", pattern, allocated)
		}
	}
}

func FuzzAddressAgreesWithTheStandardLibrary(f *testing.F) {
	f.Add(`[{"a":"b"}, "", "mail"]`)
	f.Add(`[{},"jobs","\u65e5\"\\"]`)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := addressOf(text)
		var parts []json.RawMessage
		if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 3 {
			return // it need not agree about what is no task, only survive
		}
		var want address
		if parts[1][0] != '"' || parts[2][0] != '"' || len(parts[1])+len(parts[2]) > longestName {
			return
		}
		if json.Unmarshal(parts[1], &want.exchange) != nil || json.Unmarshal(parts[2], &want.key) != nil {
			return
		}
		if !ok || got != want {
			t.Errorf("%q: %q, %t, want %q", text, got, ok, want)
		}
	})
}
