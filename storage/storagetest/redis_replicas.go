//go:build unix

package storagetest

import (
	"strconv"
	"strings"
	"testing"
)

// AwaitReplicas waits until the server has replicas and all of them have what was written so far: a fail-over loses what has
// not reached them. WAIT would see to the writes of one connection only, and a replica says that its link is up as much as a
// second before its primary begins to send what is written.
func (s *RedisServer) AwaitReplicas(tb testing.TB) {
	tb.Helper()
	written := parseOffset(tb, s.info(tb, "master_repl_offset"))
	until(tb, "the replicas have what was written", func() bool {
		count := s.info(tb, "connected_slaves")
		for i := 0; strconv.Itoa(i) != count; i++ {
			// slave0:ip=127.0.0.1,port=6380,state=online,offset=1128,lag=0
			_, online, _ := strings.Cut(s.info(tb, "slave"+strconv.Itoa(i)), ",state=online,offset=")
			offset, _, ok := strings.Cut(online, ",")
			if !ok || parseOffset(tb, offset) < written {
				return false
			}
		}
		return count != "0"
	})
}

func parseOffset(tb testing.TB, text string) int64 {
	tb.Helper()
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		tb.Fatalf("redis: INFO: %v", err)
	}
	return offset
}
