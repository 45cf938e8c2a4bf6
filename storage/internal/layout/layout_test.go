package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

var layouts = []driver.Layout{{From: 20, To: 20, Query: "a"}, {From: 21, To: 24, Query: "b"}, {From: 30, To: 46, Query: "c"}}

func TestChooseFindsTheLayoutThatHoldsTheVersion(t *testing.T) {
	for version, want := range map[int64]int{20: 0, 21: 1, 23: 1, 24: 1, 30: 2, 46: 2} {
		got, err := layout.Choose(layouts, []any{version})
		if err != nil || got != want {
			t.Errorf("Choose(%d) = %d, %v; want %d", version, got, err, want)
		}
	}
}

func TestChooseRefusesWhatNoLayoutHolds(t *testing.T) {
	tests := map[string]struct {
		found []any
		kind  driver.Kind
		says  string
	}{
		"newer":      {[]any{int64(99)}, driver.Schema, "version 99: known are 20–24, 30–46; update leadsman"},
		"older":      {[]any{int64(19)}, driver.Schema, "version 19: known are 20–24, 30–46; update the job library"},
		"between":    {[]any{int64(25)}, driver.Schema, "version 25: known are 20–24, 30–46; update leadsman or the job library"},
		"no row":     {nil, driver.Schema, "not installed here (it holds no schema version)"},
		"NULL":       {[]any{nil}, driver.Schema, "not installed here"},
		"text":       {[]any{"20"}, driver.Contract, "20, which is no integer"},
		"a fraction": {[]any{20.5}, driver.Contract, "20.5, which is no integer"},
		"two rows":   {[]any{int64(20), int64(21)}, driver.Contract, "2 rows"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := layout.Choose(layouts, tt.found)
			known, ok := errors.AsType[*driver.Error](err)
			if !ok || known.Kind != tt.kind || !strings.Contains(known.Message, tt.says) {
				t.Errorf("got %v, want %s: …%s…", err, tt.kind, tt.says)
			}
		})
	}
}

func TestCheckWantsAQueryOrLayoutsToChooseFrom(t *testing.T) {
	tests := map[string]struct {
		sql  driver.SQL
		says string // "" for no fault
	}{
		"query":             {driver.SQL{Query: "q"}, ""},
		"layouts":           {driver.SQL{Version: "v", Layouts: layouts}, ""},
		"activity":          {driver.SQL{Query: "q", Activity: "a"}, ""},
		"activity alone":    {driver.SQL{Activity: "a"}, "Activity needs a Query"},
		"static activity":   {driver.SQL{Query: "q", Static: true, Activity: "a"}, "Activity needs a Query"},
		"activity, layouts": {driver.SQL{Version: "v", Layouts: layouts, Activity: "a"}, "Activity needs a Query"},
		"nothing":           {driver.SQL{}, "query is empty"},
		"blank":             {driver.SQL{Query: " \n"}, "query is empty"},
		"both":              {driver.SQL{Query: "q", Version: "v", Layouts: layouts}, "one or the other"},
		"query and layouts": {driver.SQL{Query: "q", Layouts: layouts}, "one or the other"},
		"no version":        {driver.SQL{Layouts: layouts}, "no query for the version"},
		"no layouts":        {driver.SQL{Version: "v"}, "no layouts"},
		"an empty layout":   {driver.SQL{Version: "v", Layouts: []driver.Layout{{From: 1, To: 2}}}, "1 to 2 is empty"},
		"upside down":       {driver.SQL{Version: "v", Layouts: []driver.Layout{{From: 2, To: 1, Query: "q"}}}, "holds no version"},
		"overlapping": {driver.SQL{Version: "v", Layouts: []driver.Layout{
			{From: 1, To: 3, Query: "q"}, {From: 3, To: 4, Query: "r"},
		}}, "does not come after"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := layout.Check(tt.sql)
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want …%s…", err, tt.says)
			}
		})
	}
}
