package query

import "testing"

// BenchmarkParse measures what every RPC pays.
func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct {
		name     string
		metadata map[string]string
	}{
		{"typical", map[string]string{"scalerAddress": "leadsman:50051", "source": "mail", "queue": "invoices", "target": "5"}},
		{"hashed", map[string]string{"scalerAddress": "leadsman:50051", "source": "mail", "queue": "Team/Mail", "target": "5"}},
		{"full", map[string]string{
			"scalerAddress": "leadsman:50051", "source": "mail", "queue": "b,a,mail-*", "metric": "ready", "target": "5",
			"activation": "2", "linger": "90s", "lookahead": "5m", "max": "100", "token": "ldm_id_secret",
		}},
		{"faulty", map[string]string{"scalerAddress": "leadsman:50051", "sorce": "mail", "queue": "", "target": "0"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse(bench.metadata, several)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	q := parseQueue(b, "a,b,mail-*-out")
	b.ReportAllocs()
	for b.Loop() {
		q.Match("mail-invoices-eu-out")
	}
}
