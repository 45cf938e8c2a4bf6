package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestConnectionFaultsOfRedis(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name       string
		begin, end [][]string // commands
		outage     bool
	}{
		{
			name:  "all connections are killed",
			begin: [][]string{{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "pubsub"}},
		}, {
			name:  "maxclients is reached, and all connections are killed",
			begin: [][]string{{"CONFIG", "SET", "maxclients", "1"}, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}},
			end:   [][]string{{"CONFIG", "SET", "maxclients", "1000"}}, outage: true,
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server := storagetest.StartRedis(t)
			server.Client(t) // the test's own connection is there before nobody is let in
			do := func(commands [][]string) func(*testing.T, *victim) {
				return func(t *testing.T, _ *victim) {
					for _, command := range commands {
						server.Do(t, command...)
					}
				}
			}
			endures(t, befalls(t, asynqKind, newAsynqStore(t, server), newNetwork(t, server.Addr())),
				fault{name: f.name, begin: do(f.begin), end: do(f.end), outage: f.outage, pushed: "tracking"})
		})
	}
}

// newSentinelStore is for a primary and its replica, which sentinels watch.
func newSentinelStore(t *testing.T, set *storagetest.RedisSentinel) *asynqStore {
	t.Helper()
	app := rig.NewAsynqAppOn(t, asynq.RedisFailoverClientOpt{MasterName: set.Master(), SentinelAddrs: set.Addrs()})
	entry := fmt.Sprintf("{url: 'redis+sentinel://%s/%s', preset: asynq}", strings.Join(set.Addrs(), ","), set.Master())
	return &asynqStore{AsynqApp: app, entry: func(string) string { return entry }, servers: func() []*storagetest.RedisServer {
		return append(set.Replicas(t), set.Primary(t))
	}}
}

func TestFailOversOfSentinel(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{
		"fail-over: the primary is demoted and lives on": false, "fail-over: kill -9 of the primary": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := storagetest.StartSentinel(t)
			f := fault{
				name: name, pushed: "tracking",
				begin: func(t *testing.T, _ *victim) { set.FailOver(t) },
				end:   func(*testing.T, *victim) {},
			}
			if killed {
				var old *storagetest.RedisServer
				f.begin = func(t *testing.T, _ *victim) { old = set.KillPrimary(t) }
				f.end = func(t *testing.T, _ *victim) { set.AwaitFailOver(t, old) }
			}
			endures(t, befalls(t, "Redis Sentinel, Asynq", newSentinelStore(t, set), nil), f)
		})
	}
}

func TestFailOversOfRedisCluster(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{
		"fail-over: the primary is demoted and lives on": false, "fail-over: kill -9 of the primary": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := storagetest.StartRedisCluster(t, storagetest.WithReplicas(1))
			const key = "asynq:{idle}:pending"
			var old *storagetest.RedisServer
			f := fault{
				name: name, pushed: "tracking",
				begin: func(t *testing.T, _ *victim) {
					old = cluster.NodeOf(t, key)
					if killed {
						cluster.KillPrimary(t, old)
					} else {
						cluster.FailOver(t, old)
					}
				},
				end: func(t *testing.T, _ *victim) {
					if killed {
						cluster.AwaitFailOver(t, old)
					}
				},
			}
			s := newClusterStore(t, cluster)
			s.servers = func() []*storagetest.RedisServer {
				return slices.DeleteFunc(slices.Clone(cluster.Nodes()), func(node *storagetest.RedisServer) bool { return killed && node == old })
			}
			endures(t, befalls(t, "Redis Cluster, Asynq", s, nil), f)
		})
	}
}

func newClusterStore(t *testing.T, cluster *storagetest.RedisCluster) *asynqStore {
	t.Helper()
	app := rig.NewAsynqAppOn(t, asynq.RedisClusterClientOpt{Addrs: cluster.Addrs()})
	entry := fmt.Sprintf("{url: 'redis+cluster://%s', preset: asynq}", strings.Join(cluster.Addrs(), ","))
	return &asynqStore{AsynqApp: app, entry: func(string) string { return entry }}
}
