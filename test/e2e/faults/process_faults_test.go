package faults

import (
	"syscall"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A process is a server's, whichever it is.
type process interface {
	Start(tb testing.TB)
	Stop(tb testing.TB)
	Kill(tb testing.TB)
	Signal(tb testing.TB, sig syscall.Signal)
}

// processFaults are for any server.
func processFaults(p process, pushed string) []fault {
	start := func(t *testing.T, _ *victim) { p.Start(t) }
	return []fault{
		{
			name: "kill -9, and started again", pushed: pushed, outage: true,
			begin: func(t *testing.T, _ *victim) { p.Kill(t) }, end: start,
		}, {
			name: "stopped, and started again", pushed: pushed, outage: true,
			begin: func(t *testing.T, _ *victim) { p.Stop(t) }, end: start,
		}, {
			name: "frozen (SIGSTOP)", pushed: pushed, outage: true,
			begin: func(t *testing.T, _ *victim) { p.Signal(t, syscall.SIGSTOP) },
			end:   func(t *testing.T, _ *victim) { p.Signal(t, syscall.SIGCONT) },
		}, {
			name: "restarted at once", pushed: pushed,
			begin: func(t *testing.T, _ *victim) {
				p.Stop(t)
				p.Start(t)
			},
			end: func(*testing.T, *victim) {},
		},
	}
}

// durable has a commit survive a crash, as by default; a test that crashes nothing can do without.
var durable = storagetest.Setting("synchronous_commit", "on")

func TestProcessFaultsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for i, f := range processFaults(nil, "") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cluster := storagetest.StartCluster(t, durable)
			s := newRiverStore(t, cluster.Database(t))
			endures(t, befalls(t, riverKind, s, newNetwork(t, cluster.Address())), processFaults(cluster, "listen")[i])
		})
	}
}

func TestProcessFaultsOfRedis(t *testing.T) {
	t.Parallel()
	for i, f := range processFaults(nil, "") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server := storagetest.StartRedis(t, storagetest.WithConfig("appendonly", "yes"))
			v := befalls(t, asynqKind, newAsynqStore(t, server), newNetwork(t, server.Addr()))
			endures(t, v, processFaults(server, "tracking")[i])
		})
	}
}

// serverFaults are those of leadsman itself.
func serverFaults() []fault {
	return []fault{
		{
			name: "leadsman: kill -9, and started again", outage: true, breaksStreams: true,
			begin: func(_ *testing.T, v *victim) { v.server.Kill() },
			end:   func(_ *testing.T, v *victim) { v.server.Start() },
		}, {
			name: "leadsman: stopped, and started again", outage: true,
			begin: func(_ *testing.T, v *victim) { v.server.Stop() },
			end:   func(_ *testing.T, v *victim) { v.server.Start() },
		}, {
			name:  "leadsman: frozen (SIGSTOP)",
			begin: func(_ *testing.T, v *victim) { v.server.Signal(syscall.SIGSTOP) },
			end:   func(_ *testing.T, v *victim) { v.server.Signal(syscall.SIGCONT) },
		},
	}
}

func TestFaultsOfLeadsmanItself(t *testing.T) {
	t.Parallel()
	for _, f := range serverFaults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.pushed = "listen"
			s := newRiverStore(t, storagetest.Postgres(t))
			endures(t, befalls(t, riverKind, s, newNetwork(t, sharedCluster(t))), f)
		})
	}
}
