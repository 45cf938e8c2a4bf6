package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// drained is how many jobs a worker takes at once from the list that is pushed to.
const drained = 100

// measureTracking is what it costs a producer that leadsman's connection tracks its list: the pushes per second, and
// the processor time that the server spends on each, while a stream waits and while there is no leadsman at all.
// One producer pushes as fast as the server answers, one by one or a hundred in a pipeline, and takes all jobs away
// after each hundred. leadsman reads, which arms the tracking, some twice a second: a stream that has found a job looks
// again after a second at the earliest. All programs share the machine, so what leadsman itself takes of it counts
// in the rate, but not in the processor time.
//
// There are two servers, and leadsman is at one of them; halfway it changes over. Then the same without leadsman at either,
// which tells how far two servers that differ in nothing are apart on this machine.
func measureTracking(b *bed) []row {
	servers := []*storagetest.RedisServer{storagetest.StartRedis(b), storagetest.StartRedis(b)}
	rows := make([]row, 0, 8)
	for _, with := range []bool{true, false} {
		loads := []*pushLoad{{what: "one by one", pipeline: 1}, {what: fmt.Sprintf("%d in a pipeline", drained), pipeline: drained}}
		for range 2 {
			pushToBoth(b, servers[0], servers[1], with, loads)
			slices.Reverse(servers)
		}
		for _, load := range loads {
			rows = append(rows, load.rows(with)...)
		}
	}
	return rows
}

// pushToBoth pushes to two servers in turns, with leadsman over the first of them or over none.
func pushToBoth(b *bed, on, off *storagetest.RedisServer, with bool, loads []*pushLoad) {
	b = b.sub()
	defer b.clean()
	if with {
		defer b.streamOver(on)()
	}
	onConn, offConn := b.resp(on), b.resp(off)
	for i := range pick(b, 100, 2) {
		for _, load := range loads {
			if i%2 == 0 { // what comes first may be at an advantage
				load.on.run(b, onConn, load.pipeline)
				load.off.run(b, offConn, load.pipeline)
			} else {
				load.off.run(b, offConn, load.pipeline)
				load.on.run(b, onConn, load.pipeline)
			}
		}
	}
}

// streamOver starts leadsman over the list of a race, with a stream that waits. The function returned makes sure that
// it was read all along.
func (b *bed) streamOver(server *storagetest.RedisServer) (check func()) {
	process := b.leadsmanOver(listSource(server.URL()), nil)
	client := b.dial(process)
	b.awaitMode(process, client, driver.ModeTracking)
	ctx, cancel := context.WithCancel(b.ctx)
	b.Cleanup(cancel)
	b.must(client.wakes(ctx, func(time.Time) {}))
	for b.source(process).GetStreamsWaiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	before, start := b.source(process).GetReads(), time.Now()
	return func() {
		reads := b.source(process).GetReads() - before
		if least := int64(time.Since(start) / time.Second); reads <= least {
			b.Fatalf("leadsman has read %d times in %s", reads, time.Since(start))
		}
	}
}

// A pushLoad is a way to push, and how it went with leadsman and without.
type pushLoad struct {
	what     string
	pipeline int // commands sent at once; drained is a multiple
	on, off  pushes
}

// pushes are runs of a load.
type pushes struct {
	rates []float64 // per second
	costs []time.Duration
}

// pushWindow is how long a run lasts: several times as long as leadsman lets signals add up, and short, so that what else
// goes on meets the one server and the other alike.
const pushWindow = 100 * time.Millisecond

// run pushes for a while.
func (p *pushes) run(b *bed, conn *respConn, pipeline int) {
	n, used, start := 0, b.redisCPU(conn), time.Now()
	for time.Since(start) < pushWindow {
		for range drained / pipeline {
			for range pipeline {
				conn.add("LPUSH", wakeQueue, "job")
			}
			b.must(conn.flush(pipeline))
		}
		conn.add("LTRIM", wakeQueue, strconv.Itoa(drained), "-1")
		b.must(conn.flush(1))
		n += drained
	}
	p.rates = append(p.rates, float64(n)/time.Since(start).Seconds())
	p.costs = append(p.costs, (b.redisCPU(conn)-used)/time.Duration(n))
}

func (l *pushLoad) rows(with bool) []row {
	what, against, aim := "Redis, LPUSH while a stream waits, ", "the same without leadsman", ratioAtLeast(0.98)
	if !with {
		what, against, aim = "Redis, LPUSH without leadsman, ", "the same at a second server", target{}
	}
	what += l.what + ": "
	rate, cost := median(l.off.rates), float64(median(l.off.costs))
	return []row{
		{what + "pushes", perSecond(rate * paired(l.on.rates, l.off.rates)), perSecond(rate), against, aim},
		{what + "the server's processor time", nanos(cost * paired(l.on.costs, l.off.costs)), nanos(cost), against, target{}},
	}
}

// paired is how much greater a run is than the one beside it. One of two servers is faster than the other, by where its memory
// happens to lie, and so may be what comes first: the runs are of four kinds, each server and each order as often as its
// opposite.
func paired[T float64 | time.Duration](runs, beside []T) float64 {
	return evened(runs, beside, func(i int) int {
		half := i * 2 / len(runs) // servers change halfway
		return half*2 + byTurn(i)
	})
}

// nanos is a short duration, given in nanoseconds.
func nanos(x float64) quantity {
	return quantity{x, func(v float64) string { return fmt.Sprintf("%.0f ns", v) }}
}

// redisCPU returns the processor time that a server's main thread has used.
func (b *bed) redisCPU(conn *respConn) (used time.Duration) {
	info, err := conn.do("INFO", "cpu")
	b.must(err)
	fields := []string{"used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"}
	for line := range strings.Lines(info.text) {
		i := slices.IndexFunc(fields, func(field string) bool { return strings.HasPrefix(line, field) })
		if i < 0 {
			continue
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(line[len(fields[i]):]), 64)
		b.must(err)
		used += time.Duration(seconds * float64(time.Second))
	}
	return used
}
