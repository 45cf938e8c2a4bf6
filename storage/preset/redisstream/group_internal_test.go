package redisstream

import "testing"

func TestAfterIsTheNextID(t *testing.T) {
	for id, want := range map[string]string{
		"0-0": "0-1", "1796000000000-41": "1796000000000-42", "5-18446744073709551615": "6-0",
		"18446744073709551615-18446744073709551615": "18446744073709551615-18446744073709551615",
		"": "", "5": "", "5-": "", "-5": "", "a-b": "", "5-18446744073709551616": "",
	} {
		if got := after(id); got != want {
			t.Errorf("after(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestGroupsOfOddFieldsAreErrors(t *testing.T) {
	for _, fields := range []map[string]string{
		{},
		{"pending": "1"},
		{"pending": "-1", "last-delivered-id": "0-0"},
		{"pending": "x", "last-delivered-id": "0-0"},
		{"pending": "1", "last-delivered-id": "soon"},
	} {
		if g, err := groupOf(fields); err == nil {
			t.Errorf("%v: %+v, want an error", fields, g)
		}
	}
	for lag, want := range map[string]int64{"7": 7, "-95": unknown, "": unknown, "many": unknown} {
		g, err := groupOf(map[string]string{"pending": "1", "last-delivered-id": "0-0", "lag": lag})
		if err != nil || g.lag != want {
			t.Errorf("lag %q: %+v, %v, want %d", lag, g, err, want)
		}
	}
}
