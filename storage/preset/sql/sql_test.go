package sql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/sql"
)

func TestNewServesBothEngines(t *testing.T) {
	listen := &driver.Listen{Channels: []string{"job_added"}}
	got, err := sql.New("SELECT 1", listen)
	if err != nil {
		t.Fatal(err)
	}
	want := driver.Preset{
		Name: "sql",
		Postgres: &driver.SQL{
			Query: "SELECT 1", Static: true,
			Listen: &driver.Listen{Channels: []string{"job_added"}, Payload: driver.PayloadNone},
		},
		SQLite: &driver.SQL{Query: "SELECT 1", Static: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	listen.Channels[0] = "changed later"
	if got.Postgres.Listen.Channels[0] != "job_added" {
		t.Error("the preset shares the caller's list")
	}
}

func TestNewNamesTheFault(t *testing.T) {
	tests := map[string]struct {
		query  string
		listen *driver.Listen
		says   string
	}{
		"no query":          {"", nil, "query is empty"},
		"blank query":       {" \n\t", nil, "query is empty"},
		"zero byte":         {"SELECT\x00", nil, "zero byte"},
		"no channel":        {"SELECT 1", &driver.Listen{}, "names no channel"},
		"empty channel":     {"SELECT 1", &driver.Listen{Channels: []string{"a", ""}}, "empty channel"},
		"zero in a channel": {"SELECT 1", &driver.Listen{Channels: []string{"a\x00"}}, "zero byte"},
		"long channel":      {"SELECT 1", &driver.Listen{Channels: []string{strings.Repeat("é", 32)}}, "64 bytes"},
		"negative echo":     {"SELECT 1", &driver.Listen{Channels: []string{"a"}, Echo: []time.Duration{-1}}, "echo"},
	}
	for name, tt := range tests {
		if _, err := sql.New(tt.query, tt.listen); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error that says %q", name, err, tt.says)
		}
	}
}
