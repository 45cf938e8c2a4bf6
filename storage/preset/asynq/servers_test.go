package asynq_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// serverInfo is the message that a server registers: ten tasks at once, from two queues.
func serverInfo(queue, status string) []byte {
	var b []byte
	text := func(to []byte, field protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), s)
	}
	number := func(to []byte, field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
	}
	b = text(b, 1, "host")
	b = number(b, 2, 4711)
	b = number(b, 4, 10)
	for _, name := range []string{"other", queue} {
		b = text(b, 5, string(number(text(nil, 1, name), 2, 1)))
	}
	b = text(b, 7, status)
	return b
}

// register writes a server's registration, which ends after left. In Redis that expires, too.
func register(f fixture, queue string, left time.Duration) {
	f.registerAs(serverInfo(queue, "active"), left)
}

func (f fixture) registerAs(info []byte, left time.Duration) {
	f.tb.Helper()
	server := fmt.Sprintf("asynq:servers:{host:4711:%d}", f.tasks.Add(1))
	f.do("ZADD", "asynq:servers", f.seconds(left), server)
	if left > 0 {
		f.do("SET", server, string(info), "PX", fmt.Sprint(left.Milliseconds()))
	}
}

func TestThePoolIsTheLiveServersOfTheQueue(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	if diff := cmp.Diff(&driver.Pool{}, redistest.ReadQueue(t, engine, "mail").Pool); diff != "" {
		t.Errorf("without servers: %s", diff)
	}
	register(f, "mail", time.Minute)
	register(f, "mail", time.Minute)
	register(f, "images", time.Minute)
	register(f, "mail", -time.Second) // died
	f.registerAs(serverInfo("mail", "stopped"), time.Minute)
	for _, broken := range []string{"", "x", "\xff\xff\xff", string(serverInfo("mail", "active")[:20])} {
		f.registerAs([]byte(broken), time.Minute)
	}
	f.do("ZADD", "asynq:servers", f.seconds(time.Minute), "another:key")
	want := &driver.Pool{Workers: 2, Capacity: 20}
	if diff := cmp.Diff(want, redistest.ReadQueue(t, engine, "mail").Pool); diff != "" {
		t.Error(diff)
	}
}

// Its registration lasts in Redis, whatever its own clock says of when that ends.
func TestAServerWhoseClockIsBehindCounts(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	register(f, "mail", time.Minute)
	f.do("ZADD", "asynq:servers", f.seconds(-30*time.Second), "asynq:servers:{host:4711:2}")
	if diff := cmp.Diff(&driver.Pool{Workers: 1, Capacity: 10}, redistest.ReadQueue(t, engine, "mail").Pool); diff != "" {
		t.Error(diff)
	}
}
