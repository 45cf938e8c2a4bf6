//go:build unix

package storagetest

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

// sentinelMaster is the name that the sentinels know the primary by.
const sentinelMaster = "jobs"

// A RedisSentinel is a primary, its replicas, and three sentinels that watch over them and make a replica the primary
// when that is gone for half a second. They tell each other more often than usual.
//
// Its methods are for one goroutine.
type RedisSentinel struct {
	servers   []*RedisServer
	sentinels []*RedisServer
}

// StartSentinel starts a primary with one replica, or as many as WithReplicas says, all with the other options, and the
// sentinels, and returns when those know everybody. A password and TLS are those of the servers and their sentinels.
func StartSentinel(tb testing.TB, opts ...RedisOption) *RedisSentinel {
	tb.Helper()
	primary := StartRedis(tb, append([]RedisOption{WithReplicas(1)}, opts...)...)
	set := &RedisSentinel{servers: []*RedisServer{primary}}
	for range primary.replicas {
		set.servers = append(set.servers, StartRedis(tb, append(slices.Clone(opts), ReplicaOf(primary))...))
	}
	for range 3 {
		set.sentinels = append(set.sentinels, startSentinel(tb, primary))
	}
	until(tb, "the sentinels know each other and the servers", func() bool {
		return all(set.sentinels, func(s *RedisServer) bool {
			known := masterState(tb, s)
			return known["flags"] == "master" && known["num-other-sentinels"] == "2" &&
				known["num-slaves"] == strconv.Itoa(len(set.servers)-1)
		}) && set.settled(tb, primary)
	})
	return set
}

// WithReplicas says how many replicas each primary gets that StartSentinel and StartRedisCluster start.
func WithReplicas(n int) RedisOption {
	return func(s *RedisServer) { s.replicas = n }
}

// startSentinel starts one sentinel.
func startSentinel(tb testing.TB, primary *RedisServer) *RedisServer {
	tb.Helper()
	monitor := directive("sentinel", "monitor", sentinelMaster, "127.0.0.1", strconv.Itoa(primary.port), "2")
	s := StartRedis(tb, func(s *RedisServer) {
		s.sentinel, s.tls, s.password = true, primary.tls, primary.password
		s.config = append(s.config, monitor,
			directive("sentinel", "down-after-milliseconds", sentinelMaster, "500"),
			directive("sentinel", "failover-timeout", sentinelMaster, "2000"),
		)
		if s.password != "" {
			s.config = append(s.config, directive("sentinel", "auth-pass", sentinelMaster, s.password),
				directive("sentinel", "sentinel-pass", s.password))
		}
	})
	// With shorter times to publish, a sentinel demotes a replica again, because it has not heard yet who promoted it.
	s.Do(tb, "SENTINEL", "DEBUG", "info-period", "200", "publish-period", "500", "ping-period", "100", "ask-period", "100")
	return s
}

// Master is the name of the primary, for whoever asks a sentinel.
func (r *RedisSentinel) Master() string { return sentinelMaster }

// Addrs is the sentinels' hosts and ports.
func (r *RedisSentinel) Addrs() []string { return addrs(r.sentinels) }

// Sentinels is the sentinels, whom Do asks for what sentinels know.
func (r *RedisSentinel) Sentinels() []*RedisServer { return r.sentinels }

// Servers is the primary and the replicas, the first primary first.
func (r *RedisSentinel) Servers() []*RedisServer { return r.servers }

// Primary is the server that the first sentinel that runs calls the primary now. It may be gone already.
func (r *RedisSentinel) Primary(tb testing.TB) *RedisServer {
	tb.Helper()
	for _, s := range r.sentinels {
		if s.running() {
			return r.primaryBy(tb, s)
		}
	}
	tb.Fatal("no sentinel runs")
	return nil
}

func (r *RedisSentinel) primaryBy(tb testing.TB, sentinel *RedisServer) *RedisServer {
	tb.Helper()
	addr, err := sentinel.Do(tb, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster).AsStrSlice()
	if err != nil || len(addr) != 2 {
		tb.Fatalf("the sentinel answered %q for the primary's address: %v", addr, err)
	}
	for _, s := range r.servers {
		if s.Addr() == net.JoinHostPort(addr[0], addr[1]) {
			return s
		}
	}
	tb.Fatalf("the sentinel called %q the primary, which is no server of its", addr)
	return nil
}

// Replicas is the servers that run and are not the Primary.
func (r *RedisSentinel) Replicas(tb testing.TB) []*RedisServer {
	tb.Helper()
	primary := r.Primary(tb)
	return slices.DeleteFunc(slices.Clone(r.servers), func(s *RedisServer) bool { return s == primary || !s.running() })
}

// FailOver makes a replica the primary while the old one lives on, which then follows it, and returns the new one. What was
// written before is not lost.
func (r *RedisSentinel) FailOver(tb testing.TB) *RedisServer {
	tb.Helper()
	from := r.Primary(tb)
	from.AwaitReplicas(tb)
	r.sentinels[0].Do(tb, "SENTINEL", "FAILOVER", sentinelMaster)
	return r.AwaitFailOver(tb, from)
}

// KillPrimary kills the primary, as a crash would, and returns it without waiting for another. What was written before is not
// lost.
func (r *RedisSentinel) KillPrimary(tb testing.TB) *RedisServer {
	tb.Helper()
	primary := r.Primary(tb)
	primary.AwaitReplicas(tb)
	primary.Kill(tb)
	return primary
}

// AwaitFailOver returns the primary that has taken from's place, when all sentinels say so and all other servers that run
// are in sync with it.
func (r *RedisSentinel) AwaitFailOver(tb testing.TB, from *RedisServer) *RedisServer {
	tb.Helper()
	var primary *RedisServer
	until(tb, "another server is the primary", func() bool {
		primary = r.Primary(tb)
		return primary != from && r.settled(tb, primary)
	})
	return primary
}

// settled says whether everybody agrees who is the primary.
func (r *RedisSentinel) settled(tb testing.TB, primary *RedisServer) bool {
	tb.Helper()
	return all(r.sentinels, func(s *RedisServer) bool { return r.primaryBy(tb, s) == primary }) &&
		all(r.servers, func(s *RedisServer) bool {
			if s == primary {
				return s.info(tb, "role") == "master"
			}
			return s.info(tb, "master_port") == strconv.Itoa(primary.port) && s.info(tb, "master_link_status") == "up"
		})
}

// masterState is what a sentinel knows of the primary.
func masterState(tb testing.TB, sentinel *RedisServer) map[string]string {
	tb.Helper()
	state, err := sentinel.Do(tb, "SENTINEL", "MASTER", sentinelMaster).AsStrMap()
	if err != nil {
		tb.Fatalf("the sentinel's state of the primary: %v", err)
	}
	return state
}

// all says whether all servers that run meet a condition.
func all(servers []*RedisServer, condition func(*RedisServer) bool) bool {
	return !slices.ContainsFunc(servers, func(s *RedisServer) bool { return s.running() && !condition(s) })
}

func addrs(servers []*RedisServer) []string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	return addrs
}
