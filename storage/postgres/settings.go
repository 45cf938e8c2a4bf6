package postgres

import (
	"strconv"
	"strings"
	"time"
)

// settings builds the statement that goes before the preset's query in the same implicit transaction. Each
// setting is local to it (the third argument of set_config), unlike SET, which would stay behind on a server
// connection that a pooler hands to somebody else. It also asks whether the server is a standby, and its clock.
func settings(timeout time.Duration, static bool) query {
	local := []struct{ name, value string }{
		{"statement_timeout", milliseconds(timeout)},
		{"lock_timeout", milliseconds(timeout / 2)},
		{"transaction_read_only", "on"},
		// Off means: raise an error where a policy would hide rows. A zero because of a policy is a lie.
		{"row_security", "off"},
	}
	if !static {
		// A preset of ours is written as bounded index probes. Statistics would only lead away from them: those
		// of a table that fills from nothing in a minute are always wrong. Planned once per connection, too.
		local = append(local, []struct{ name, value string }{
			{"enable_seqscan", "off"},
			{"enable_bitmapscan", "off"},
			{"jit", "off"},
			{"max_parallel_workers_per_gather", "0"},
			{"plan_cache_mode", "force_generic_plan"},
		}...)
	}
	var b strings.Builder
	b.WriteString("SELECT pg_is_in_recovery(), now()")
	for _, s := range local {
		b.WriteString(", set_config('" + s.name + "', '" + s.value + "', true)")
	}
	text := b.String()
	return query{text: text, name: statementName(text)}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10)
}
