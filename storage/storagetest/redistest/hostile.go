package redistest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leadsman/leadsman/storage/driver"
)

// maxRounds bounds the rounds of one plan, however much there is in the database: each costs a round trip.
const maxRounds = 100

// Fuzz reads queues of a Redis that holds whatever the fuzzer has made up ([script]), as anybody may have who can write
// to it. The plan has to end within bounds, with counts that a source accepts, or with an error that says what of.
// options stand for the preset's defaults where they are set.
func Fuzz(f *testing.F, preset *driver.Redis, options driver.RedisOptions) {
	for _, seed := range seeds {
		f.Add("mail", seed, int64(0), false)
		f.Add("mail", seed, int64(5), true)
	}
	for _, text := range hostileTexts(200) {
		f.Add("mail", "1\n1\n1\n"+text+"\n"+text+"\n"+text, int64(0), false)
	}
	f.Fuzz(func(t *testing.T, queue, replies string, limit int64, activity bool) {
		ask := driver.RedisAsk{
			RedisOptions: merge(preset.Defaults, options), Queue: queue, Now: Noon(), Limit: max(0, limit), Activity: activity,
		}
		q, notes, err := settle(preset, &ask, newScript(replies).reply)
		switch {
		case err != nil:
			checkError(t, err, len(queue)+len(replies))
		case q.Ready < 0 || q.Running < 0 || q.Scheduled < 0 || q.Oldest < 0:
			t.Errorf("a count below zero would fail the read of every queue: %+v", q)
		case q.Pool != nil && (q.Pool.Workers < 0 || q.Pool.Capacity < 0):
			t.Errorf("so many workers would fail the read of every queue: %+v", q.Pool)
		}
		for _, note := range notes {
			if !utf8.ValidString(note) {
				t.Errorf("unfit to be shown: %.1000q", note)
			}
		}
		if preset.List != nil {
			listAll(t, preset, &ask.RedisOptions, replies)
		}
	})
}

// seeds are replies of an honest kind: numbers, jobs of some libraries, times.
var seeds = []string{
	"", "3", "0\n1\n2\n3\n4", `1\n{"queue":"mail","at":1796000000}`,
	"1\n1\n1\n" + `{"queue":"mail","enqueued_at":1795953500.5,"class":"A"}` + "\n1795953600.25\nhost:1:mail,other",
	"2\nid-1\n1795953599\n1795953700\nmail\n" + `{"capsules":{"a":{"concurrency":9223372036854775807,"weights":{"mail":1}}}}`,
	"1\n7\n" + `[{"body":"x"}, "jobs", "mail"]` + "\nmail\x06\x16(a{1000}){1000}\x06\x16mail",
	"1\nid\n1795953600000\nbullmq:6.1.0\n1\n1\n1\n1\n1\n1\n{\"delay\":5000}",
	"1\ng\npending\n5\nlast-delivered-id\n5-0\nlag\n9\n5-1\n6-0",
}

// settle plans one queue, and answers its rounds by reply until there are none.
func settle(
	preset *driver.Redis, ask *driver.RedisAsk, reply func(*driver.RedisReply) any,
) (q driver.Queue, notes []string, err error) {
	q = driver.Queue{Name: ask.Queue, Lookahead: ask.Lookahead}
	all := driver.NewRedisReads()
	preset.Queue(all.For(0), ask, &q)
	if err := answer(all, maxRounds, reply); err != nil {
		return q, nil, err
	}
	return q, all.Notes(), all.Failed(0)
}

var errEndless = errors.New("the plan does not come to an end")

// answer settles at most so many rounds.
func answer(all *driver.RedisReads, most int, reply func(*driver.RedisReply) any) error {
	for range most {
		round := all.Round()
		if len(round) == 0 {
			return nil
		}
		for _, read := range round {
			read.Value = reply(read)
		}
		all.Settle(round)
	}
	return errEndless
}

// listAll has the preset list its queues, in as many rounds as there are pages.
func listAll(t *testing.T, preset *driver.Redis, options *driver.RedisOptions, replies string) {
	t.Helper()
	all := driver.NewRedisReads()
	preset.List(all.For(0), options, func(string) {})
	if err := answer(all, maxRounds+strings.Count(replies, "\n"), newScript(replies).reply); err != nil {
		t.Error(err)
	}
}

func checkError(t *testing.T, err error, longest int) {
	t.Helper()
	known, ok := errors.AsType[*driver.Error](err)
	if !ok || errors.Is(err, errEndless) {
		t.Errorf("%v is no error of a reader's", err)
		return
	}
	if bound := 1000 + 8*longest; len(known.Message) > bound || !utf8.ValidString(known.Message) {
		t.Errorf("unfit to be shown: %d bytes: %.1000q", len(known.Message), known.Message)
	}
}

// Hostile gives a preset values that cost those dear who take them apart: megabytes of brackets, digits, escapes, and
// keys that come twice ([hostileTexts]). What a read allocates has to be proportional to what the server has sent, as
// two sizes of each show, and to less than a few dozen times as much.
func Hostile(t *testing.T, preset *driver.Redis, options driver.RedisOptions) {
	t.Helper()
	const size, times, most = 1 << 17, 8, 40
	small, large := hostileTexts(size), hostileTexts(times*size)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			few, fewSent := allocated(preset, options, small[name])
			many, manySent := allocated(preset, options, large[name])
			if many > most*manySent+(1<<20) { // a megabyte is for what does not depend on the size
				t.Errorf("%d bytes were allocated for %d that were read", many, manySent)
			}
			if few > 0 && many > 2*times*few+(8<<20) {
				t.Errorf("%d bytes were allocated for %d, and %d for %d: more than in proportion", few, fewSent, many, manySent)
			}
		})
	}
}

// allocated reads a queue whose every value is text, and returns how many bytes that has allocated and how many it read.
func allocated(preset *driver.Redis, options driver.RedisOptions, text string) (bytes, sent uint64) {
	var before, after runtime.MemStats
	for _, activity := range []bool{true, false} {
		ask := driver.RedisAsk{RedisOptions: merge(preset.Defaults, options), Queue: "mail", Now: Noon(), Activity: activity}
		uniform := &uniform{text: text}
		runtime.ReadMemStats(&before)
		_, _, err := settle(preset, &ask, uniform.reply)
		runtime.ReadMemStats(&after)
		if errors.Is(err, errEndless) {
			panic(fmt.Sprintf("%v: %.100q", err, text))
		}
		bytes, sent = bytes+after.TotalAlloc-before.TotalAlloc, sent+uniform.sent
	}
	return bytes, sent
}

// merge puts the options that are set in place of defaults.
func merge(defaults, options driver.RedisOptions) driver.RedisOptions {
	if options.Prefix != "" {
		defaults.Prefix = options.Prefix
	}
	if options.Keys != nil {
		defaults.Keys = options.Keys
	}
	if options.Group != "" {
		defaults.Group = options.Group
	}
	if options.Queues != nil {
		defaults.Queues = options.Queues
	}
	return defaults
}

// hostileTexts are values of about n bytes by what is wrong with them.
func hostileTexts(n int) map[string]string {
	fill := func(before, each, after string) string {
		return before + strings.Repeat(each, max(1, n/len(each))) + after
	}
	return map[string]string{
		"digits":             fill(`{"queue":`, "9", `,"enqueued_at":1`+`}`),
		"a time of digits":   fill(`{"enqueued_at":`, "9", `,"run_at":1,"pushedAt":"1","time":1}`),
		"a number":           fill("", "9", ""),
		"an exponent":        fill("1e", "9", ""),
		"objects in objects": fill("", `{"queue":`, `1`+strings.Repeat("}", n/9)),
		"open brackets":      fill("", "[", ""),
		"open braces":        fill("", `{"capsules":`, ""),
		"key twice":          fill(`{`, `"queue":"mail",`, `"queue":"other"}`),
		"many keys":          fill(`{"capsules":{"a":{"weights":{`, `"ab":1,`, `"mail":1}}},"version":"8"}`),
		"many queues":        fill(`{"queues":[`, `"ab",`, `"mail"],"concurrency":9223372036854775807}`),
		"long name":          fill(`{"queue":"`, "x", `"}`),
		"long key":           fill(`{"`, "x", `":1,"queue":"mail"}`),
		"escapes":            fill(`{"queue":"`, `\u0000`, `"}`),
		"backslashes":        fill(`{"queue":"`, `\\`, `"}`),
		"no end":             fill(`{"queue":"mail`, "x", ""),
		"not UTF-8":          fill(`{"queue":"`, "\xff\xfe\xc0", `"}`),
		"white space":        fill(`{`, " \n", `"queue":"mail"}`),
		"zeroes":             fill("", "\x00", ""),
		"quotes":             fill("[", `"`, `, "", "mail"]`),
		"a list":             fill(`["`, "x", `", "jobs", "mail"]`),
		"commas":             fill("host:1:", ",", "mail"),
		"stars":              fill("host:1:", "*a", "mail"),
		"a message":          fill("\x20\x05\x3a\x06active", "\x2a\x06\x0a\x04mail", ""),
		"a message's length": fill("\x2a\xff\xff\xff\xff\x07", "x", ""),
		"a pattern":          fill("mail\x06\x16^(a", "|a", ")$\x06\x16mail"),
		"nested patterns":    fill("mail\x06\x16", "(", "\x06\x16mail"),
	}
}
