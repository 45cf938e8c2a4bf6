package main

import (
	"context"
	"strconv"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// resp connects to a server until the bed is cleaned.
func (b *bed) resp(server *storagetest.RedisServer) *respConn {
	conn, err := dialRESP(b.ctx, server.Addr())
	b.must(err)
	b.Cleanup(func() { _ = conn.conn.Close() }) // the server goes too
	return conn
}

// track is resp for a connection that tracks what it reads.
func (b *bed) track(server *storagetest.RedisServer) *respConn {
	conn, err := trackRESP(b.ctx, server.Addr())
	b.must(err)
	b.Cleanup(func() { _ = conn.conn.Close() }) // the server goes too
	return conn
}

// bareList is a producer with a list and nothing else.
type bareList struct{ conn *respConn }

func (p bareList) insert(context.Context) error {
	_, err := p.conn.do("LPUSH", wakeQueue, "job")
	return err
}

func (p bareList) clear(context.Context) error {
	_, err := p.conn.do("DEL", wakeQueue)
	return err
}

// bullMQ is a producer that adds jobs as BullMQ's script does since version 5: all in one step.
type bullMQ struct {
	conn *respConn
	jobs int
}

// bullMQBase is what the keys of the queue begin with.
const bullMQBase = "bull:" + wakeQueue + ":"

// newBullMQ opens the queue, which says so in its settings.
func newBullMQ(b *bed, server *storagetest.RedisServer) *bullMQ {
	p := &bullMQ{conn: b.resp(server)}
	_, err := p.conn.do("HSET", bullMQBase+"meta", "opts.maxLenEvents", "10000", "version", "bullmq:5.0.0")
	b.must(err)
	return p
}

func (p *bullMQ) insert(context.Context) error {
	p.jobs++
	id := strconv.Itoa(p.jobs)
	commands := [][]string{
		{"MULTI"},
		{"HSET", bullMQBase + id, "name", "bench", "data", "{}", "opts", "{}", "timestamp", "1700000000000", "delay", "0", "priority", "0"},
		{"LPUSH", bullMQBase + "wait", id},
		{"ZADD", bullMQBase + "marker", "0", "0"},
		{"XADD", bullMQBase + "events", "MAXLEN", "~", "10000", "*", "event", "waiting", "jobId", id},
		{"EXEC"},
	}
	for _, command := range commands {
		p.conn.add(command...)
	}
	return p.conn.flush(len(commands))
}

func (p *bullMQ) clear(context.Context) error {
	_, err := p.conn.do("DEL", bullMQBase+"wait", bullMQBase+"marker", bullMQBase+strconv.Itoa(p.jobs))
	return err
}
