package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// unknownFlags stands for those of a server that does not tell.
const unknownFlags = "?"

// keyspaceFlags asks which keyspace notifications the server sends. It is asked once a session.
func keyspaceFlags(ctx context.Context, s *session) (string, error) {
	command := s.client.B().ConfigGet().Parameter("notify-keyspace-events").Build()
	values, err := s.client.Do(ctx, command).AsStrMap()
	return values["notify-keyspace-events"], err
}

// keyspace is what the server says of each write to a key, if it is configured to.
type keyspace struct {
	engine *Engine
	db     int
	flags  string // notify-keyspace-events
	why    string // there is nothing better
}

func (k *keyspace) everywhere() bool { return true }

func (k *keyspace) channels() []channel {
	keys, _ := k.engine.keys.all()
	prefix := "__keyspace@" + strconv.Itoa(k.db) + "__:"
	out := make([]channel, 0, len(keys))
	for _, key := range keys {
		out = append(out, channel{driver.RedisEvent{Channel: prefix + key}, k.engine.keys.of(key)})
	}
	return out
}

// mode is the best only where the server is known to announce all that is read.
func (k *keyspace) mode(heard bool) (driver.Mode, string) {
	_, needed := k.engine.keys.all()
	switch {
	case k.flags == unknownFlags && heard, strings.Contains(k.flags, "A"):
		return driver.ModeKeyspace, ""
	case k.flags == unknownFlags:
		return driver.ModeEdgePoll, k.why + "; CONFIG GET is refused, and no keyspace notification has been heard yet"
	}
	for _, class := range needed {
		if !strings.ContainsRune(k.flags, class) {
			return driver.ModeEdgePoll, fmt.Sprintf("%s; keyspace notifications lack class %q: set notify-keyspace-events to K%s",
				k.why, class, needed)
		}
	}
	return driver.ModeKeyspace, ""
}
