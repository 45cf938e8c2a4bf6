package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
)

// aboutStray says what is wrong with a key that is none of ours, and what would be right. The value is never shown:
// it may be a secret under a misspelled key.
func aboutStray(spelled string) string {
	name, fromEnv := strings.CutSuffix(spelled, suffixFromEnv)
	if isConnection(name) {
		return `connections live on the server and a trigger cannot bring its own; ` +
			`remove the key and name a configured source with "source"`
	}
	meant := foreign(name)
	if meant == "" {
		meant = spell.Nearest(name, knownKeys())
	}
	if meant == "" {
		return "is unknown; known are " + strings.Join(knownKeys(), ", ")
	}
	if fromEnv {
		meant += suffixFromEnv
	}
	return "is unknown; did you mean " + strconv.Quote(meant) + "?"
}

// knownKeys returns the keys that a person might have meant, in the documented order.
func knownKeys() []string {
	names := make([]string, 0, keyCount+1)
	for k, about := range keys {
		if k := key(k); k != keyTargetQueueDepth && k != keyActivationQueueDepth {
			names = append(names, about.name)
		}
	}
	return append(names, "token")
}

// isConnection tells whether a key says where to connect, by how it ends: "redisAddress", "pgHost", "dsn".
func isConnection(name string) bool {
	lower := strings.ToLower(clip(name, longestKey))
	return slices.ContainsFunc([]string{
		"url", "uri", "dsn", "host", "hosts", "hostname", "port", "address", "addresses", "endpoint", "server", "servers",
		"connection", "connectionstring", "user", "username", "password", "passwd", "database", "databasename",
		"databaseindex", "dbname", "sslmode", "sentinelmaster",
	}, func(end string) bool { return strings.HasSuffix(lower, end) })
}

// foreign returns our key for one of KEDA's other queue scalers, whose triggers people start from, or "".
func foreign(name string) string {
	lower := strings.ToLower(clip(name, longestKey))
	measure, activation := strings.CutPrefix(lower, "activation")
	switch measure {
	case "queuename", "listname", "queues":
		return keys[keyQueue].name
	case "metricname":
		return keys[keyName].name
	case "value", "targetvalue", "threshold", "queuelength", "listlength", "queuedepth", "targetqueuelength",
		"targetqueuesize", "queuesize", "lagcount":
		if activation {
			return keys[keyActivation].name
		}
		return keys[keyTarget].name
	}
	return ""
}

// longestKey is where a key is too long to be a slip of the pen, in bytes.
const longestKey = 40

// knownSources says which sources there are and, where one is close, which may have been meant.
func knownSources(asked string, sources []Source) string {
	if len(sources) == 0 {
		return "no source is configured that this caller may read; add one to the server's configuration, or widen the grant"
	}
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	text := ""
	if meant := spell.Nearest(asked, names); meant != "" {
		text = "did you mean " + strconv.Quote(meant) + "? "
	}
	text += "known: "
	shown := names[:min(len(names), shownSources)]
	text += strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
