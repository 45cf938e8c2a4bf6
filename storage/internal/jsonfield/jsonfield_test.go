package jsonfield_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

func TestReadFindsTopLevelFieldsOnly(t *testing.T) {
	deep := strings.Repeat(`{"queue":"deep","a":[`, 1000) + `"]}\""` + strings.Repeat("]}", 1000)
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"first":         {`{"queue":"mail","at":1.5}`, []string{"mail", "1.5"}},
		"last":          {`{"args":[1,{"queue":"no"},"}"],"at":-2e3,"queue":"mail"}`, []string{"mail", "-2e3"}},
		"spaced":        {" \n{ \"queue\" : \"mail\" ,\t\"at\" : 7 } ", []string{"mail", "7"}},
		"escaped value": {`{"queue":"m\u00e4il \"x\" \\","at":1}`, []string{`mäil "x" \`, "1"}},
		"escaped key":   {`{"queu\u0065":"mail"}`, []string{"mail", ""}},
		"twice":         {`{"queue":"one","queue":"two"}`, []string{"one", ""}},
		"missing":       {`{"other":true}`, []string{"", ""}},
		"null":          {`{"queue":null,"at":false}`, []string{"", "false"}},
		"empty":         {`{}`, []string{"", ""}},
		"nested":        {`{"args":` + deep + `,"queue":"mail"}`, []string{"mail", ""}},
		"object":        {`{"queue":{"a":"}"},"at":[1]}`, []string{`{"a":"}"}`, "[1]"}},
	} {
		got, ok := jsonfield.Read(tt.text, "queue", "at")
		if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
			t.Errorf("%s: ok = %t (-want +got):\n%s", name, ok, diff)
		}
	}
}

func TestWhatIsNoObjectIsNone(t *testing.T) {
	for _, text := range []string{
		"", "null", "7", `"queue"`, `["queue"]`, "{", `{"a`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1 2}`, `{a:1}`, `{"a":[1}`, `{"a":"\`, `{,}`,
		"\x04\x08{", strings.Repeat("[", 1<<20), `{"a":` + strings.Repeat("[", 1<<20),
	} {
		if got, ok := jsonfield.Read(text, "queue"); ok || got[0] != "" {
			t.Errorf("%.20q: %q, %t", text, got, ok)
		}
	}
}

// What lies behind the last field that is asked for is not looked at, and what lies before it costs no memory.
func TestReadTakesNoMemoryForWhatItStepsOver(t *testing.T) {
	long := `{"args":["` + strings.Repeat(`{\"x\":1}`, 1<<17) + `"],"queue":"mail","rest":`
	allocations := testing.AllocsPerRun(10, func() {
		if got, ok := jsonfield.Read(long, "queue"); got[0] != "mail" || !ok {
			t.Fatalf("%q, %t", got, ok)
		}
	})
	if allocations > 2 { // lists of names and of values
		t.Errorf("%g allocations", allocations)
	}
}

func FuzzReadAgreesWithTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{`{"queue":"mail"}`, `{"a":[{"b":"}"}],"queue":"m\u00e4il"}`, `{`, `{"queue":1e5}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := jsonfield.Read(text, "queue")
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) != nil || strings.Count(text, `"queue"`) > 1 ||
			strings.ContainsRune(text, '\\') || !utf8.ValidString(text) {
			return // it need not agree about what is wrong, only survive
		}
		if !ok && object != nil {
			t.Fatalf("%q is an object", text)
		}
		var want string
		if json.Unmarshal(object["queue"], &want) == nil && want != got[0] {
			t.Errorf("%q: queue = %q, want %q", text, got[0], want)
		}
	})
}
