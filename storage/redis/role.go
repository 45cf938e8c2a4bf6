package redis

import (
	"strconv"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

func quote(key string) string {
	const longest = 200
	if len(key) > longest {
		key = key[:longest] + "…"
	}
	return strconv.Quote(key)
}

// takeRole makes sure that the server is one whose counts are true: the master where sentinels have named it, and
// else a replica only while it follows its master.
func (s *session) takeRole(result rueidis.RedisResult) error {
	parts, err := result.ToArray()
	if refusal(err) {
		s.noRole.Store(true)
		s.refused.add("ROLE", "it is not seen when the server becomes a replica that lags")
		return nil
	}
	if err != nil || len(parts) == 0 {
		return err
	}
	switch role, _ := parts[0].ToString(); role {
	case "master":
		return nil
	case "slave":
		return s.replica(parts)
	default:
		return driver.Errorf(driver.Unavailable, "the server is a %s and holds no queues; "+
			"write redis+sentinel://host:26379/mymaster/0", role)
	}
}

func (s *session) replica(parts []rueidis.RedisMessage) error {
	if s.kind == sentinel {
		return errDemoted
	}
	if len(parts) < 4 {
		return nil
	}
	if state, _ := parts[3].ToString(); state != "connected" {
		return driver.Errorf(driver.Unavailable, "the server is a replica that has lost its master (it is in state %s): "+
			"what it holds may be old", state)
	}
	s.refused.note("the server is a replica: what is read may lag behind its master")
	return nil
}

// errDemoted ends a session whose server is the master no more.
var errDemoted = driver.Errorf(driver.Unavailable, "the server is the master no more; its sentinels are asked for the new one")
