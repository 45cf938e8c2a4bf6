package query_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// What Known says must be what Parse does.
func TestKnownAgreesWithParse(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"source", "queue", "queueFromEnv", "targetQueueDepth", "token", "tokenFromEnv", "scalerAddress", "enableTLS",
		"Queue", "queueName", "max", "maximum", "fromEnv", "FromEnv", "",
	} {
		_, err := query.Parse(map[string]string{key: "1", "source": "mail"}, []query.Source{{Name: "mail"}, {Name: "1"}})
		refused := err != nil && strings.Contains(err.Error(), "is unknown")
		if known := query.Known(key); known == refused {
			t.Errorf("Known(%q) = %t, and Parse says %v", key, known, err)
		}
	}
}
