package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Commands reads one queue as an engine does, by the clock that ask names, and returns the commands that were sent: for
// each round, those that are watched, then those that may be refused. It says so of a read of activity alone, and of a
// whole one.
func Commands(tb testing.TB, server *storagetest.RedisServer, preset *driver.Redis, ask driver.RedisAsk) string {
	tb.Helper()
	var b strings.Builder
	for _, ask.Activity = range []bool{true, false} {
		what := "everything"
		if ask.Activity {
			what = "activity"
		}
		fmt.Fprintf(&b, "# %s of queue %q at %s\n", what, ask.Queue, ask.Now.UTC().Format(time.RFC3339Nano))
		Plan(tb, server, preset, ask, &b)
	}
	return b.String()
}

// Plan reads one queue as an engine does, by the clock that ask names, and writes the commands to b.
func Plan(
	tb testing.TB, server *storagetest.RedisServer, preset *driver.Redis, ask driver.RedisAsk, b *strings.Builder,
) driver.Queue {
	tb.Helper()
	q := driver.Queue{Name: ask.Queue, Lookahead: ask.Lookahead}
	all := driver.NewRedisReads()
	preset.Queue(all.For(0), &ask, &q)
	for n := 1; ; n++ {
		round := all.Round()
		if len(round) == 0 {
			break
		}
		fmt.Fprintf(b, "round %d\n", n)
		for _, reply := range round {
			write(b, reply)
			value, err := server.Do(tb, words(reply)...).ToAny()
			if err != nil && !rueidis.IsRedisNil(err) {
				tb.Fatalf("%s: %v", reply.Command, err)
			}
			reply.Value = value
		}
		all.Settle(round)
	}
	if err := all.Failed(0); err != nil {
		tb.Fatal(err)
	}
	return q
}

func words(reply *driver.RedisReply) []string {
	return append(append(strings.Fields(reply.Command), reply.Key), reply.Args...)
}

func write(b *strings.Builder, reply *driver.RedisReply) {
	b.WriteString("  " + reply.Command)
	for _, word := range append([]string{reply.Key}, reply.Args...) {
		if word == "" || strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c == '"' || c > '~' }) {
			word = strconv.Quote(word)
		}
		b.WriteString(" " + word)
	}
	switch {
	case reply.Lenient():
		b.WriteString("   (may be refused)")
	case reply.Watched:
		b.WriteString("   (watched)")
	}
	b.WriteByte('\n')
}
