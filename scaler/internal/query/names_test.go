package query

import (
	"strings"
	"testing"
)

// Case 2: names are distinct, valid and short. The names here are in use: a change of one breaks somebody's HPA.
func TestMetricNamesAreStable(t *testing.T) {
	long := strings.Repeat("long-", 20)
	seen := map[string]bool{}
	for _, tc := range []struct {
		source, queues string
		metric         Metric
		want           string
	}{
		{"mail", "invoices", MetricReady, "queue-mail--invoices--ready"},
		{"mail", "team-mail", MetricOutstanding, "queue-mail--team-mail--outstanding"},
		{"mail", "team/mail", MetricOutstanding, "queue-mail--team-mail--outstanding-skbkujwz2h"},
		{"mail", "Team/Mail", MetricOutstanding, "queue-mail--team-mail--outstanding-ys3xedtitz"},
		{"mail", "team_mail", MetricOutstanding, "queue-mail--team-mail--outstanding-6ypviyz6u5"},
		{"mail", "", MetricOutstanding, "queue-mail--all--outstanding-wooui7zd65"},
		{"mail", "all", MetricOutstanding, "queue-mail--all--outstanding"},
		{"mail", "All", MetricOutstanding, "queue-mail--all--outstanding-f6utytuz6b"},
		{"a--b", "", MetricReady, "queue-a-b--all--ready-yskwzz6hir"},
		{"a--b", "all", MetricReady, "queue-a-b--all--ready-zpa6ybgro4"},
		{"a-b", "c", MetricReady, "queue-a-b--c--ready"},
		{"a", "b-c", MetricReady, "queue-a--b-c--ready"},
		{"a", "b--c", MetricReady, "queue-a--b-c--ready-ksb65am3hu"},
		{"a--b", "c", MetricReady, "queue-a-b--c--ready-sihqxsdhth"},
		{"mail", "a,b", MetricReady, "queue-mail--a-b--ready-tbjdfaqulq"},
		{"mail", "mail-*", MetricReady, "queue-mail--mail--ready-j4rucieu5j"},
		{"mail", "日本", MetricReady, "queue-mail--x--ready-6xrgpoiemg"},
		{"mail", long, MetricReady, "queue-mail--long-long-long-long-long-long-lon--ready-zrh5iwmh6u"},
		{"mail", long + "x", MetricReady, "queue-mail--long-long-long-long-long-long-lon--ready-4obu2s7ve4"},
		{long[:62], long, MetricUtilization, "queue-long-long-long--long-long-long-lo--utilization-c2xlvpl7aj"},
		{long[:62], "b", MetricUtilization, "queue-long-long-long-long-long-long--b--utilization-ljuinxc76t"},
		{long[:62], "b", MetricOldest, "queue-long-long-long-long-long-long-long--b--oldest-mhquou4nri"},
	} {
		got := metricName(tc.source, tc.queues, tc.metric)
		if got != tc.want {
			t.Errorf("metricName(%q, %q, %q) = %q, want %q", tc.source, tc.queues, tc.metric, got, tc.want)
		}
		if !validName(got) || seen[got] {
			t.Errorf("%q: valid %v, seen before %v", got, validName(got), seen[got])
		}
		seen[got] = true
	}
}

// Cases 1 and 3.
func TestSameName(t *testing.T) {
	for _, tc := range []struct {
		requested, own string
		want           bool
	}{
		{"x", "x", true},
		{"X", "x", true},
		{"s0-x", "x", true},
		{"S12-X", "x", true},
		{"", "x", true},
		{"other", "x", false},
		{"s0-other", "x", false},
		{"s-x", "x", false},
		{"sa-x", "x", false},
		{"0-x", "x", false},
		{"s0x", "x", false},
		{"s0-s0-x", "x", false},
		{"xs0-x", "x", false},
		{"s1-x", "s1-x", true}, // a metric really named so
		{"s0-s1-x", "s1-x", true},
		{"x", "s1-x", false},
		{"s2-x", "s1-x", false},
		{"s0-", "x", false},
		{"queue-MailOut--x", "queue-mailout--x", true},
	} {
		if got := SameName(tc.requested, tc.own); got != tc.want {
			t.Errorf("SameName(%q, %q) = %v", tc.requested, tc.own, got)
		}
	}
}
