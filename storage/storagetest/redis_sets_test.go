//go:build unix

package storagetest

import (
	"slices"
	"strings"
	"testing"
)

func TestSentinelNamesAnotherPrimaryAfterAFailOver(t *testing.T) {
	for name, opts := range map[string][]RedisOption{
		"plain": nil, "password and TLS": {WithPassword("it's a secret"), WithTLS(), WithReplicas(2)},
	} {
		t.Run(name, func(t *testing.T) {
			set := StartSentinel(t, opts...)
			first := set.Primary(t)
			first.Do(t, "SET", "k", "v")
			second := set.FailOver(t)
			if second == first || set.Primary(t) != second || slices.Contains(set.Replicas(t), second) {
				t.Errorf("primary = %s and then %s", first.Addr(), second.Addr())
			}
			if !slices.Contains(set.Replicas(t), first) {
				t.Error("the old primary follows nobody")
			}
			// While everybody makes sure of their new roles, a server may be loading what another sent.
			until(t, "the new primary has the key", func() bool {
				got, err := second.Do(t, "GET", "k").ToString()
				return err == nil && got == "v"
			})
		})
	}
}

func TestSentinelReplacesAKilledPrimary(t *testing.T) {
	set := StartSentinel(t)
	killed := set.KillPrimary(t)
	primary := set.AwaitFailOver(t, killed)
	primary.Do(t, "SET", "k", "v")
	killed.Start(t)
	until(t, "the killed primary is a replica", func() bool { return killed.info(t, "role") == "slave" })
	if len(set.Addrs()) != 3 || set.Master() == "" {
		t.Errorf("sentinels = %q of %q", set.Addrs(), set.Master())
	}
}

func TestRedisClusterSendsEachKeyToItsNode(t *testing.T) {
	for name, opts := range map[string][]RedisOption{"plain": nil, "password and TLS": {WithPassword("secret"), WithTLS()}} {
		t.Run(name, func(t *testing.T) {
			c := StartRedisCluster(t, opts...)
			if len(c.Nodes()) != 3 || len(c.Addrs()) != 3 {
				t.Fatalf("nodes = %q, want 3", c.Addrs())
			}
			owners := map[*RedisServer]bool{}
			for _, key := range []string{"a", "b", "c", "d"} { // of slots in all thirds
				c.Do(t, "SET", key, "v")
				owners[c.NodeOf(t, key)] = true
			}
			if len(owners) != 3 {
				t.Errorf("the keys are on %d nodes, want 3", len(owners))
			}
		})
	}
}

func TestRedisClusterMovesASlotWithItsKeys(t *testing.T) {
	c := StartRedisCluster(t, WithPassword("secret"))
	c.Do(t, "RPUSH", "{q}a", "x", "y")
	from, slot := c.NodeOf(t, "{q}a"), c.Slot(t, "{q}a")
	to := c.Nodes()[(slices.Index(c.Nodes(), from)+1)%3]

	c.BeginMove(t, slot, to)
	_, err := from.Client(t).Do(t.Context(), from.Client(t).B().Llen().Key("{q}a").Build()).AsInt64()
	if err == nil || !strings.HasPrefix(err.Error(), "ASK ") {
		t.Errorf("LLEN while the slot moves = %v, want ASK", err)
	}
	if c.NodeOf(t, "{q}a") != from {
		t.Error("the slot has moved before the move ends")
	}
	c.EndMove(t, slot, to)
	if n := integer(t, c.Do(t, "LLEN", "{q}a")); n != 2 || c.NodeOf(t, "{q}a") != to {
		t.Errorf("LLEN after the move = %d on %s, want 2 on %s", n, c.NodeOf(t, "{q}a").Addr(), to.Addr())
	}
	c.MoveSlot(t, slot, from)
	if n := integer(t, from.Do(t, "LLEN", "{q}a")); n != 2 {
		t.Errorf("LLEN after the move back = %d, want 2", n)
	}
}

func TestRedisClusterReplacesAPrimary(t *testing.T) {
	c := StartRedisCluster(t, WithReplicas(1))
	c.Do(t, "SET", "k", "v")
	first := c.NodeOf(t, "k")
	c.FailOver(t, first)
	second := c.NodeOf(t, "k")
	if second == first {
		t.Fatal("the primary is the same after the failover")
	}
	c.KillPrimary(t, second)
	c.AwaitFailOver(t, second)
	if got := text(t, c.Do(t, "GET", "k")); got != "v" || c.NodeOf(t, "k") != first {
		t.Errorf("k = %q on %s, want v on the first primary, %s", got, c.NodeOf(t, "k").Addr(), first.Addr())
	}
}
