package redistest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// A Planned is what a preset's plan came to.
type Planned struct {
	// Queues are in the order of the asks.
	Queues []driver.Queue
	// Errors are why queues could not be read; nil where they could.
	Errors []error
	// Commands are all reads, one a line, by rounds. Those that are watched are marked by *, those that the server may
	// refuse by ?.
	Commands string
}

// Plan has a preset plan the reads of queues and carries them out on a server, one after the other. Unlike the engine it
// takes the clock from the asks, so that what is sent is the same each time.
func Plan(tb testing.TB, preset *driver.Redis, server *storagetest.RedisServer, asks ...driver.RedisAsk) Planned {
	tb.Helper()
	reads := driver.NewRedisReads()
	p := Planned{Queues: make([]driver.Queue, len(asks)), Errors: make([]error, len(asks))}
	for i := range asks {
		p.Queues[i].Name, p.Queues[i].Lookahead = asks[i].Queue, asks[i].Lookahead
		preset.Queue(reads.For(i), &asks[i], &p.Queues[i])
	}
	p.Commands = carryOut(tb, reads, server)
	for i := range asks {
		p.Errors[i] = reads.Failed(i)
	}
	return p
}

// PlanList is Plan for the names of all queues.
func PlanList(
	tb testing.TB, preset *driver.Redis, server *storagetest.RedisServer, options driver.RedisOptions,
) (names []string, commands string) {
	tb.Helper()
	reads := driver.NewRedisReads()
	seen := map[string]bool{}
	preset.List(reads.For(0), &options, func(name string) {
		if !seen[name] {
			names = append(names, name)
		}
		seen[name] = true
	})
	commands = carryOut(tb, reads, server)
	if err := reads.Failed(0); err != nil {
		tb.Fatal(err)
	}
	return names, commands
}

// carryOut does all rounds and returns their commands.
func carryOut(tb testing.TB, reads *driver.RedisReads, server *storagetest.RedisServer) string {
	tb.Helper()
	var b strings.Builder
	for n := 1; ; n++ {
		round := reads.Round()
		if len(round) == 0 {
			break
		}
		fmt.Fprintf(&b, "round %d\n", n)
		for _, reply := range round {
			fmt.Fprintf(&b, "  %s\n", line(reply))
			answer(tb, reply, server)
		}
		reads.Settle(round)
	}
	return b.String()
}

// line is a read as text; what is no plain word is quoted.
func line(reply *driver.RedisReply) string {
	mark := ' '
	switch {
	case reply.Watched:
		mark = '*'
	case reply.Lenient():
		mark = '?'
	}
	words := []string{reply.Command}
	for _, word := range append([]string{reply.Key}, reply.Args...) {
		if quoted := fmt.Sprintf("%+q", word); word == "" || strings.ContainsAny(word, " \t") || quoted != `"`+word+`"` {
			word = quoted
		}
		words = append(words, word)
	}
	return fmt.Sprintf("%c %s", mark, strings.Join(words, " "))
}

// answer sends a read.
func answer(tb testing.TB, reply *driver.RedisReply, server *storagetest.RedisServer) {
	tb.Helper()
	command := append(strings.Fields(reply.Command), reply.Key)
	client := server.Client(tb)
	result := client.Do(tb.Context(), client.B().Arbitrary(append(command, reply.Args...)...).Build())
	value, err := result.ToAny()
	switch {
	case rueidis.IsRedisNil(err):
	case err != nil:
		reply.Err = driver.Errorf(driver.Contract, "%s %s: %v", reply.Command, reply.Key, err)
	default:
		reply.Value = value
	}
}
