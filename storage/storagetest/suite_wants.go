package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// wantTests are about which queues a Reading holds.
var wantTests = []suiteTest{
	{"ReadReturnsAnUnknownQueueAsNotKnown", nil, testUnknown},
	{"ReadReturnsOneQueueForEachWant", nil, testSeveralWants},
	{"ReadTakesHundredsOfWants", nil, testManyWants},
	{"ReadTakesNamesByteForByte", exactNames, testOddNames},
	{"ReadOfEveryQueueOfAnEmptyStoreReturnsNone", everything, testEveryQueueOfNone},
	{"ReadOfEveryQueueReturnsAllKnownOnes", everything, testEveryQueue},
	{"ReadReturnsAQueueOnceThatIsWantedTwice", everything, testOverlap},
	{"ReadTakesTwoLookaheadsOfOneQueue", lookahead, testTwoLookaheads},
}

func testUnknown(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	s.expect([]driver.Queue{{Name: "nobody"}}, named("nobody")...)
}

func testSeveralWants(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 3)
	s.Insert("images", 70)
	s.Insert("unasked", 1)
	s.expect([]driver.Queue{
		{Name: "images", Known: true, Ready: 70},
		{Name: "mail", Known: true, Ready: 3},
		{Name: "nobody"},
	}, named("mail", "nobody", "images")...)
}

func testManyWants(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("q250", 2)
	var wants []driver.Want
	var want []driver.Queue
	for i := range 500 {
		name := fmt.Sprintf("q%d", i)
		wants = append(wants, driver.Want{Queue: name})
		want = append(want, driver.Queue{Name: name})
	}
	want[250].Known, want[250].Ready = true, 2
	s.expect(want, wants...)
}

// oddNames would be taken for each other, or for something else than a name, by a reader that folds, trims,
// normalizes, globs, interpolates or truncates.
var oddNames = []string{
	"mail", "Mail", "MAIL", " mail", "mail ", "team/mail", "team-mail", "team_mail", "two words", "tab\tnewline\n",
	"%", "_", "mail%", "*", "mail-*", "?", "$1", ":queue", "@wants", "{schema}", `back\slash`, `\`, "null",
	`it's`, `''`, `"quoted"`, `{"queue":null}`, `x'; DROP TABLE river_job;--`,
	"почта", "na\u00efve", "nai\u0308ve", "日本語🚢", "a\u200bb",
	strings.Repeat("long", 16), strings.Repeat("long", 16) + "er",
}

func testOddNames(t *testing.T, h Harness) {
	s := open(t, h)
	var want []driver.Queue
	for i, name := range oddNames {
		s.Insert(name, i+1)
		want = append(want, driver.Queue{Name: name, Known: true, Ready: int64(i + 1)})
	}
	if everything(h) {
		s.expect(want, driver.Want{})
	}
	absent := []string{"mAil", "m%", "team?mail", "%%", "**", "x", "naive", strings.Repeat("long", 15), "NULL"}
	for _, name := range absent {
		want = append(want, driver.Queue{Name: name})
	}
	s.expect(want, named(slices.Concat(oddNames, absent)...)...)
}

func testEveryQueueOfNone(t *testing.T, h Harness) {
	s := open(t, h)
	s.expect([]driver.Queue{}, driver.Want{})
}

func testEveryQueue(t *testing.T, h Harness) {
	s := open(t, h)
	s.Run("running", 1)
	s.Insert("ready", 2)
	s.Schedule("scheduled", 3, time.Hour)
	want := []driver.Queue{
		{Name: "ready", Known: true, Ready: 2},
		{Name: "running", Known: true, Running: 1},
		{Name: "scheduled", Known: true, Scheduled: 3},
	}
	if paused(h) {
		s.Pause("paused")
		want = append(want, driver.Queue{Name: "paused", Known: true, Paused: true})
	}
	s.expect(want, driver.Want{})
}

func testOverlap(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	s.Insert("images", 2)
	s.expect([]driver.Queue{
		{Name: "images", Known: true, Ready: 2},
		{Name: "mail", Known: true, Ready: 1},
		{Name: "nobody"},
	}, driver.Want{}, driver.Want{Queue: "mail"}, driver.Want{Queue: "nobody"})
}

func testTwoLookaheads(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	s.Schedule("mail", 2, 10*time.Minute)
	s.Schedule("mail", 4, 2*time.Hour)
	want := []driver.Queue{
		{Name: "mail", Known: true, Ready: 1, Scheduled: 6},
		{Name: "mail", Known: true, Ready: 3, Scheduled: 4, Lookahead: time.Hour},
		{Name: "nobody", Lookahead: time.Hour},
	}
	wants := []driver.Want{{Queue: "mail"}, {Queue: "mail", Lookahead: time.Hour}, {Queue: "nobody", Lookahead: time.Hour}}
	s.expect(want, wants...)
	if everything(h) {
		s.expect(want, append(wants, driver.Want{Lookahead: time.Hour})...)
	}
}
