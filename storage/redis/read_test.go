package redis_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// A job that is moved to and fro is in one place at each instant, and no read may see it in none.
func TestReadSeesOneInstant(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	shopOf(t, server).Insert("mail", 1)
	var done atomic.Bool
	moving := make(chan int)
	go func() {
		moves := 0
		for ; !done.Load(); moves++ {
			server.Do(t, "LMOVE", "shop:mail:wait", "shop:mail:run", "LEFT", "LEFT")
			server.Do(t, "LMOVE", "shop:mail:run", "shop:mail:wait", "LEFT", "LEFT")
		}
		moving <- moves
	}()
	for range 3000 {
		q := read(t, engine, "mail").Queues[0]
		if q.Ready+q.Running != 1 {
			t.Fatalf("ready = %d, running = %d of one job", q.Ready, q.Running)
		}
	}
	done.Store(true)
	if moves := <-moving; moves < 100 {
		t.Errorf("the job was moved %d times only", moves)
	}
}

func TestReadOfManyQueuesTakesOneRoundTrip(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	shopOf(t, server).Insert("q7", 1)
	read(t, engine, "q7")
	before := commands(t, server)
	names := make([]string, 500)
	for i := range names {
		names[i] = "q" + strings.Repeat("x", i)
	}
	read(t, engine, names...)
	// Six reads and a transaction each; the server's clock and role.
	if got, most := commands(t, server)-before, int64(8*len(names)+10); got > most {
		t.Errorf("%d commands for %d queues, want %d at most", got, len(names), most)
	}
}

func commands(t *testing.T, server *storagetest.RedisServer) int64 {
	t.Helper()
	info, err := server.Do(t, "INFO", "stats").ToString()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if text, ok := strings.CutPrefix(line, "total_commands_processed:"); ok {
			var n int64
			for _, digit := range strings.TrimSpace(text) {
				n = n*10 + int64(digit-'0')
			}
			return n
		}
	}
	t.Fatal("INFO does not tell of commands")
	return 0
}

func TestListOfQueuesMayBeTheSources(t *testing.T) {
	server := storagetest.StartRedis(t)
	preset := shop
	preset.List = nil
	for _, test := range []struct {
		queues []string
		failed bool
	}{{nil, true}, {[]string{"mail", "nobody"}, false}} {
		engine, err := redis.Open(redis.Config{URL: url(server.URL()), Redis: &preset, Options: driver.RedisOptions{Queues: test.queues}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.Close() })
		shopOf(t, server).Insert("mail", 1)
		reading := read(t, engine, "")
		if test.failed {
			fails(t, reading.Failed[driver.Want{}], driver.Schema, "list them under the source's queues")
			continue
		}
		if len(reading.Queues) != 1 || reading.Queues[0].Name != "mail" {
			t.Errorf("got %+v, want mail, which is known", reading.Queues)
		}
	}
}

// Case 46.
func TestListOfQueuesIsPagedAndBounded(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	shopOf(t, server).Insert("mail", 1)
	add := func(from, to int) {
		words := []string{"SADD", "shop:names"}
		for i := from; i < to; i++ {
			words = append(words, "q"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/182))
		}
		server.Do(t, words...)
	}
	add(0, 5000)
	if got := len(read(t, engine, "").Queues); got < 1000 {
		t.Errorf("%d queues, want those of all pages", got)
	}
	before := commands(t, server)
	read(t, engine, "mail")
	if got := commands(t, server) - before; got > 20 {
		t.Errorf("%d commands to read one queue of very many", got)
	}
	for i := range 30 {
		words := []string{"SADD", "shop:names"}
		for j := range 1000 {
			words = append(words, strings.Repeat("n", i+1)+string(rune('0'+j%10))+string(rune('0'+j/10%10))+string(rune('0'+j/100)))
		}
		server.Do(t, words...)
	}
	fails(t, read(t, engine, "").Failed[driver.Want{}], driver.Contract, "more than 10000 queues")
}

// Case 33.
func TestUnknownQueueIsShownBesideThoseThatAre(t *testing.T) {
	server := storagetest.StartRedis(t)
	preset := shop
	preset.Near = func(o *driver.RedisOptions) (string, func(string) (string, bool)) {
		return o.Prefix + "*:wait", func(key string) (string, bool) {
			return strings.CutSuffix(strings.TrimPrefix(key, o.Prefix), ":wait")
		}
	}
	engine, err := redis.Open(redis.Config{URL: url(server.URL()), Redis: &preset})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	shopOf(t, server).Insert("jobs", 1)
	reading := read(t, engine, "default")
	if q := reading.Queues[0]; q.Known || q.Ready != 0 {
		t.Errorf("got %+v, want an unknown queue", q)
	}
	if notes := strings.Join(reading.Notes, "\n"); !strings.Contains(notes, `no trace of "default"`) || !strings.Contains(notes, `there is "jobs"`) {
		t.Errorf("notes = %s", notes)
	}
	before := commands(t, server)
	read(t, engine, "default")
	if got := commands(t, server) - before; got > 12 {
		t.Errorf("%d commands for another read: it looks for names each time", got)
	}
}

func TestValuesThatAreNoneAreErrors(t *testing.T) {
	server := storagetest.StartRedis(t)
	engine := open(t, server.URL())
	server.Do(t, "SADD", "shop:names", "mail")
	server.Do(t, "LPUSH", "shop:mail:wait", "yesterday")
	reading := read(t, engine, "mail")
	if reading.Failed[driver.Want{Queue: "mail"}] == nil {
		t.Errorf("got %+v, want the preset's error", reading)
	}
}
