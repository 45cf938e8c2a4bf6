package asynq

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

const (
	serverKey   = "asynq:servers:{" // and host:pid:id}: the registration of one server
	mostServers = 1000              // that are looked at

	// skew is by how much the clock of a server's host may be behind that of Redis. Registrations of servers that died
	// are not looked at for longer: they expire in Redis, but stay in the set until somebody cleans it.
	skew = time.Minute
)

// planPool reads the servers that work a queue. The registry is the same for all queues, so that it is read once, and
// taken apart once.
func planPool(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	servers := r.ZRangeByScore(serversKey, epoch.Seconds(ask.Now.Add(-skew)), "+inf", mostServers)
	r.Then(func() error {
		var infos []*driver.RedisReply
		for _, server := range servers.Scores() {
			if strings.HasPrefix(server.Element, serverKey) {
				infos = append(infos, r.Get(server.Element))
			}
		}
		r.Then(func() error {
			if refused(servers) || slices.ContainsFunc(infos, refused) {
				return nil // they are unknown, which is not none
			}
			pools := driver.Derived(servers, func(*driver.RedisReply) map[string]driver.Pool { return poolsOf(infos) })
			pool := pools[ask.Queue]
			q.Pool = &pool
			return nil
		})
		return nil
	})
}

func refused(reply *driver.RedisReply) bool { return reply.Err != nil }

// poolsOf adds up the servers of each queue.
func poolsOf(infos []*driver.RedisReply) map[string]driver.Pool {
	pools := map[string]driver.Pool{}
	for _, info := range infos {
		text, _ := info.Text()
		queues, slots := readServer([]byte(text))
		for _, queue := range queues {
			pool := pools[queue]
			pool.Workers++
			pool.Capacity += slots
			pools[queue] = pool
		}
	}
	return pools
}

// The fields of Asynq's message ServerInfo that are read. Each of the queues holds a name and a priority.
const (
	fieldConcurrency = 4
	fieldQueues      = 5
	fieldStatus      = 7
	fieldQueueName   = 1
)

// readServer reads which queues a server takes tasks from and how many it runs at once. A server that takes none, and
// what is no registration, has no queues.
func readServer(info []byte) (queues []string, slots int64) {
	active := false
	valid := fields(info, func(field protowire.Number, number uint64, text []byte) {
		switch int(field) {
		case fieldConcurrency:
			slots = max(0, int64(int32(number))) //nolint:gosec // an int32, as protocol buffers widen it
		case fieldStatus:
			active = string(text) == "active"
		case fieldQueues:
			fields(text, func(field protowire.Number, _ uint64, text []byte) {
				if field == fieldQueueName {
					queues = append(queues, string(text))
				}
			})
		}
	})
	if !valid || !active {
		return nil, 0
	}
	return queues, slots
}

// fields passes each field of a message to see: its number where it is one, or its bytes. It is false for what is no
// message.
func fields(message []byte, see func(field protowire.Number, number uint64, text []byte)) bool {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		var number uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return false
		}
		see(field, number, text)
		message = message[n:]
	}
	return true
}
