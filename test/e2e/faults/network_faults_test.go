package faults

import (
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// networkFaults are for any database that is reached by TCP.
func networkFaults(pushed string) []fault {
	toxic := func(name, kind string, with attributes) fault {
		return fault{
			name: name, pushed: pushed,
			begin: func(t *testing.T, v *victim) { v.network.suffers(t, kind, with) },
			end:   func(_ *testing.T, v *victim) { v.network.heals() },
		}
	}
	oneWay := func(name, direction, kind string, with attributes) fault {
		f := toxic(name, kind, with)
		f.begin = func(t *testing.T, v *victim) { v.network.suffersOneWay(t, direction, kind, with) }
		return f
	}
	outage := func(f fault) fault {
		f.outage = true
		return f
	}
	return []fault{
		outage(fault{
			name: "refused: nobody listens", pushed: pushed,
			begin: func(_ *testing.T, v *victim) { v.network.breaks() },
			end:   func(t *testing.T, v *victim) { v.network.mended(t) },
		}),
		outage(toxic("cut: each connection is reset", "reset_peer", attributes{"timeout": 0})),
		outage(toxic("half-open: what is sent is swallowed, both ways", "timeout", attributes{"timeout": 0})),
		outage(oneWay("half-open: answers are swallowed", "downstream", "timeout", attributes{"timeout": 0})),
		outage(oneWay("half-open: questions are swallowed", "upstream", "timeout", attributes{"timeout": 0})),
		outage(toxic("slower than the timeout (2 s each way)", "latency", attributes{"latency": 2000})),
		toxic("slow (100 ± 50 ms each way)", "latency", attributes{"latency": 100, "jitter": 50}),
		toxic("packet by packet (8 bytes, 0.2 ms apart)", "slicer", attributes{"average_size": 8, "size_variation": 4, "delay": 200}),
		toxic("narrow (4 KB/s)", "bandwidth", attributes{"rate": 4}),
		oneWay("cut within answers: after 700 bytes of each connection", "downstream", "limit_data", attributes{"bytes": 700}),
		toxic("connections that close 2 s late", "slow_close", attributes{"delay": 2000}),
	}
}

func TestNetworkFaultsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for _, f := range networkFaults("listen") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cluster := sharedCluster(t)
			s := newRiverStore(t, storagetest.Postgres(t))
			endures(t, befalls(t, riverKind, s, newNetwork(t, cluster)), f)
		})
	}
}

func TestNetworkFaultsOfRedis(t *testing.T) {
	t.Parallel()
	for _, f := range networkFaults("tracking") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server := storagetest.StartRedis(t)
			endures(t, befalls(t, asynqKind, newAsynqStore(t, server), newNetwork(t, server.Addr())), f)
		})
	}
}
