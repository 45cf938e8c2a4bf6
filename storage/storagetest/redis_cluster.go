//go:build unix

package storagetest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// clusterSlots is how many slots the keys of a cluster fall into.
const clusterSlots = 16384

// A RedisCluster is three primaries that share the slots, each with as many replicas as WithReplicas says. A primary that
// is gone for two seconds is replaced by its replica.
//
// Its methods are for one goroutine.
type RedisCluster struct {
	nodes []*RedisServer // the primaries first
	ids   []string       // of the nodes, as the cluster has them
}

// StartRedisCluster starts a cluster, without replicas unless WithReplicas asks for some, all with the other options, and
// returns when every node serves it.
func StartRedisCluster(tb testing.TB, opts ...RedisOption) *RedisCluster {
	tb.Helper()
	const primaries = 3
	c := &RedisCluster{}
	for i := 0; i < primaries || i < primaries*(1+c.nodes[0].replicas); i++ {
		c.add(tb, opts)
	}
	for i, node := range c.nodes {
		// Nodes that begin with the same epoch would first have to settle who goes first.
		node.Do(tb, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		c.nodes[0].Do(tb, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(node.port), strconv.Itoa(node.busPort))
		if i < primaries {
			first, last := clusterSlots*i/primaries, clusterSlots*(i+1)/primaries-1
			node.Do(tb, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last))
		}
	}
	c.await(tb, "all nodes serve the cluster", func(node *RedisServer) bool {
		state := clusterInfo(tb, node)
		return state["cluster_state"] == "ok" && state["cluster_known_nodes"] == strconv.Itoa(len(c.nodes))
	})
	for i, replica := range c.nodes[primaries:] {
		replica.Do(tb, "CLUSTER", "REPLICATE", c.ids[i%primaries])
	}
	for i, replica := range c.nodes[primaries:] {
		c.await(tb, "all nodes know the replicas", func(node *RedisServer) bool {
			return slices.Contains(c.replicaIDs(tb, node, c.ids[i%primaries]), c.ids[primaries+i])
		})
		until(tb, "the replica is in sync", func() bool { return replica.info(tb, "master_link_status") == "up" })
	}
	return c
}

// add starts a node of its own.
func (c *RedisCluster) add(tb testing.TB, opts []RedisOption) {
	tb.Helper()
	node := StartRedis(tb, append(slices.Clone(opts), func(s *RedisServer) {
		s.cluster = true
		if len(c.nodes) > 0 {
			s.tls = c.nodes[0].tls
		}
		s.config = append(s.config, directive("cluster-node-timeout", "2000"))
	})...)
	id, err := node.Do(tb, "CLUSTER", "MYID").ToString()
	if err != nil {
		tb.Fatalf("redis: CLUSTER MYID: %v", err)
	}
	c.nodes, c.ids = append(c.nodes, node), append(c.ids, id)
}

// Nodes is all nodes, those that began as primaries first.
func (c *RedisCluster) Nodes() []*RedisServer { return c.nodes }

// Addrs is the nodes' hosts and ports.
func (c *RedisCluster) Addrs() []string { return addrs(c.nodes) }

// Do runs one command on the node that owns the key that is its first argument.
func (c *RedisCluster) Do(tb testing.TB, command ...string) rueidis.RedisResult {
	tb.Helper()
	return c.NodeOf(tb, command[1]).Do(tb, command...)
}

// Slot is the slot that a key falls into.
func (c *RedisCluster) Slot(tb testing.TB, key string) int {
	tb.Helper()
	slot, err := c.any(tb).Do(tb, "CLUSTER", "KEYSLOT", key).AsInt64()
	if err != nil {
		tb.Fatalf("redis: CLUSTER KEYSLOT: %v", err)
	}
	return int(slot)
}

// NodeOf is the primary that owns a key.
func (c *RedisCluster) NodeOf(tb testing.TB, key string) *RedisServer {
	tb.Helper()
	return c.owner(tb, c.any(tb), c.Slot(tb, key))
}

// any is a node that runs.
func (c *RedisCluster) any(tb testing.TB) *RedisServer {
	tb.Helper()
	for _, node := range c.nodes {
		if node.running() {
			return node
		}
	}
	tb.Fatal("no node of the cluster runs")
	return nil
}

// owner is the primary that owns a slot, as a node knows it.
func (c *RedisCluster) owner(tb testing.TB, asked *RedisServer, slot int) *RedisServer {
	tb.Helper()
	for _, r := range c.ranges(tb, asked) {
		if r.first <= slot && slot <= r.last {
			return r.owner
		}
	}
	tb.Fatalf("nobody owns slot %d", slot)
	return nil
}

// A slotRange is slots in a row and the primary that owns them.
type slotRange struct {
	first, last int
	owner       *RedisServer
}

// ranges is who owns the slots, as a node knows it.
func (c *RedisCluster) ranges(tb testing.TB, asked *RedisServer) []slotRange {
	tb.Helper()
	// Each range is [first, last, [host, port, id, …] of the primary, and of each replica].
	ranges, err := asked.Do(tb, "CLUSTER", "SLOTS").ToArray()
	if err != nil {
		tb.Fatalf("redis: CLUSTER SLOTS: %v", err)
	}
	owned := make([]slotRange, 0, len(ranges))
	for _, r := range ranges {
		fields, err := r.ToArray()
		if err != nil || len(fields) < 3 {
			tb.Fatalf("redis: CLUSTER SLOTS answered a range %v: %v", fields, err)
		}
		first, err1 := fields[0].AsInt64()
		last, err2 := fields[1].AsInt64()
		primary, err3 := fields[2].ToArray()
		if err := errors.Join(err1, err2, err3); err != nil || len(primary) < 3 {
			tb.Fatalf("redis: CLUSTER SLOTS answered a range %v: %v", fields, err)
		}
		owner, err := primary[2].ToString()
		id := slices.Index(c.ids, owner)
		if id < 0 {
			tb.Fatalf("redis: CLUSTER SLOTS names a node %q that is none of the cluster: %v", owner, err)
		}
		owned = append(owned, slotRange{int(first), int(last), c.nodes[id]})
	}
	return owned
}

// clusterInfo is what a node says of the cluster's state.
func clusterInfo(tb testing.TB, node *RedisServer) map[string]string {
	tb.Helper()
	text, err := node.Do(tb, "CLUSTER", "INFO").ToString()
	if err != nil {
		tb.Fatalf("redis: CLUSTER INFO: %v", err)
	}
	state := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			state[name] = value
		}
	}
	return state
}

// await waits until a condition holds as every node that runs sees it.
func (c *RedisCluster) await(tb testing.TB, what string, condition func(node *RedisServer) bool) {
	tb.Helper()
	until(tb, what, func() bool { return all(c.nodes, condition) })
}

// ClusterLeftovers let a leak check overlook what a client of a cluster leaves behind for some seconds, even when it is closed:
// who closes connections to nodes that are gone, and who would look at the cluster again.
func ClusterLeftovers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
	}
}
