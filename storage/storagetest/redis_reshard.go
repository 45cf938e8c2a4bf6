//go:build unix

package storagetest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// MoveSlot moves a slot and its keys to another primary, as resharding does, and returns when all nodes know.
func (c *RedisCluster) MoveSlot(tb testing.TB, slot int, to *RedisServer) {
	tb.Helper()
	c.BeginMove(tb, slot, to)
	c.EndMove(tb, slot, to)
}

// BeginMove moves the keys of a slot to another primary and leaves the slot where it is: until EndMove, whoever asks its
// owner for a key that has moved, or for one that does not exist, is sent to ask the other (ASK).
func (c *RedisCluster) BeginMove(tb testing.TB, slot int, to *RedisServer) {
	tb.Helper()
	from := c.owner(tb, c.any(tb), slot)
	number := strconv.Itoa(slot)
	to.Do(tb, "CLUSTER", "SETSLOT", number, "IMPORTING", c.id(from))
	from.Do(tb, "CLUSTER", "SETSLOT", number, "MIGRATING", c.id(to))
	keys, err := from.Do(tb, "CLUSTER", "GETKEYSINSLOT", number, "1000000").AsStrSlice()
	if err != nil {
		tb.Fatalf("redis: CLUSTER GETKEYSINSLOT: %v", err)
	}
	if len(keys) == 0 {
		return
	}
	migrate := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "10000"}
	if to.password != "" {
		migrate = append(migrate, "AUTH", to.password)
	}
	from.Do(tb, append(append(migrate, "KEYS"), keys...)...)
}

// EndMove gives the slot, whose keys BeginMove has moved, to the other primary, and returns when all nodes know.
func (c *RedisCluster) EndMove(tb testing.TB, slot int, to *RedisServer) {
	tb.Helper()
	from := c.owner(tb, c.any(tb), slot)
	for _, node := range []*RedisServer{to, from} { // the receiver first: at no time does nobody own the slot
		node.Do(tb, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", c.id(to))
	}
	c.await(tb, "all nodes know who owns the slot", func(node *RedisServer) bool { return c.owner(tb, node, slot) == to })
}

// FailOver makes a replica of a primary take its place while that lives on, and returns when all nodes know.
func (c *RedisCluster) FailOver(tb testing.TB, primary *RedisServer) {
	tb.Helper()
	var replicas []string
	until(tb, "the primary has a replica (start the cluster WithReplicas)", func() bool {
		replicas = c.replicaIDs(tb, primary, c.id(primary))
		return len(replicas) > 0
	})
	primary.AwaitReplicas(tb)
	c.nodes[slices.Index(c.ids, replicas[0])].Do(tb, "CLUSTER", "FAILOVER")
	c.AwaitFailOver(tb, primary)
}

// KillPrimary kills a primary, as a crash would, without waiting for another. What was written to it before is not lost.
func (c *RedisCluster) KillPrimary(tb testing.TB, primary *RedisServer) {
	tb.Helper()
	primary.AwaitReplicas(tb)
	primary.Kill(tb)
}

// AwaitFailOver waits until a replica has taken the place of a primary, such as one that was killed, and all nodes that run
// know and serve the cluster. NodeOf tells which it was.
func (c *RedisCluster) AwaitFailOver(tb testing.TB, from *RedisServer) {
	tb.Helper()
	c.await(tb, "a replica has taken the primary's place", func(node *RedisServer) bool {
		return clusterInfo(tb, node)["cluster_state"] == "ok" &&
			!slices.ContainsFunc(c.ranges(tb, node), func(r slotRange) bool { return r.owner == from })
	})
}

func (c *RedisCluster) id(node *RedisServer) string { return c.ids[slices.Index(c.nodes, node)] }

// replicaIDs is the replicas of a primary, as a node knows them.
func (c *RedisCluster) replicaIDs(tb testing.TB, asked *RedisServer, primary string) []string {
	tb.Helper()
	text, err := asked.Do(tb, "CLUSTER", "NODES").ToString()
	if err != nil {
		tb.Fatalf("redis: CLUSTER NODES: %v", err)
	}
	var ids []string
	for line := range strings.Lines(text) {
		// id, address, flags, the id of the primary …
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == primary && strings.Contains(fields[2], "slave") {
			ids = append(ids, fields[0])
		}
	}
	return ids
}
