package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// A sourceReport is what was found out about one source.
type sourceReport struct {
	source   *SourceConfig
	location string // without credentials; "" where it could not be opened
	findings []driver.Finding
}

func (r *sourceReport) add(check string, level driver.Level, found, remedy string) {
	r.findings = append(r.findings, driver.Finding{Check: check, Level: level, Found: found, Remedy: remedy})
}

// failed tells whether anything has.
func (r *sourceReport) failed() bool {
	return slices.ContainsFunc(r.findings, func(f driver.Finding) bool { return f.Level == driver.LevelFail })
}

// splitRemedy parts a message of the engines, which say what is wrong and, after a semicolon, what to do.
func splitRemedy(message string) (found, remedy string) {
	found, remedy, _ = strings.Cut(message, "; ")
	return found, remedy
}

// examineSource reads a source as the server would, has its engine look around, and watches it for a moment.
func examineSource(ctx context.Context, c *SourceConfig, queues []string, log *slog.Logger) sourceReport {
	r := sourceReport{source: c}
	opened, err := openSource(c, log)
	if err != nil {
		found, remedy := splitRemedy(redactAll(err.Error(), c.secrets()))
		r.add("configuration", driver.LevelFail, found, remedy)
		return r
	}
	defer func() { _ = opened.Close() }() // it was only read
	src := opened.Source
	r.location = src.Traits().Location
	x := &sourceExam{sourceReport: &r, opened: src, request: driver.Request{Wants: wantsOf(queues), Limit: c.Sampling.CountLimit}}
	first, err := x.read(ctx)
	if !x.look(ctx, first, err) {
		return r
	}
	if err != nil {
		x.unread(err)
	} else {
		x.sampled(ctx, first)
	}
	x.push(ctx)
	return r
}

func redactAll(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// wantsOf are every queue, and those that are named.
func wantsOf(queues []string) []driver.Want {
	wants := []driver.Want{{}}
	for _, queue := range queues {
		if want := (driver.Want{Queue: queue}); !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	return wants
}

// A sourceExam is the examination of a source that could be opened.
type sourceExam struct {
	*sourceReport

	opened  *storage.Source
	request driver.Request
}

// read samples the source under the server's deadline.
func (x *sourceExam) read(ctx context.Context) (storage.Sample, error) {
	const connecting = 2 // as the engines have it: the first read may take twice the timeout
	ctx, cancel := context.WithTimeout(ctx, connecting*x.source.Sampling.Timeout)
	defer cancel()
	return x.opened.Read(ctx, x.request)
}

// look reports whether the source is reached, and what its engine finds. It returns false where there is no more to find.
func (x *sourceExam) look(ctx context.Context, first storage.Sample, readErr error) bool {
	findings, err := x.opened.Examine(ctx)
	if err == nil {
		found := "yes"
		if readErr == nil {
			found = fmt.Sprintf("in %s, connecting and the first sample included", show.Age(first.Took))
		}
		x.add("reachable", driver.LevelOK, found, "")
		x.findings = append(x.findings, findings...)
		return true
	}
	failure := asFailure(err)
	found, remedy := splitRemedy(failure.Message)
	if failure.Kind == driver.Denied {
		x.add("reachable", driver.LevelOK, "somebody answers", "")
		x.add("credentials", driver.LevelFail, found, remedy)
	} else {
		x.add("reachable", driver.LevelFail, found, cmp.Or(remedy,
			"see whether the URL is right, the server runs and listens there, and no firewall or NetworkPolicy keeps this host out"))
	}
	return false
}

// asFailure is the *storage.Error that every error of a source is.
func asFailure(err error) *storage.Error {
	if failure, ok := errors.AsType[*storage.Error](err); ok {
		return failure
	}
	return &storage.Error{Kind: driver.Unavailable, Message: err.Error()}
}

// checkOfKind names the check that a read fails by.
var checkOfKind = map[driver.Kind]string{
	driver.Unavailable: "sample", driver.Timeout: "sample", driver.Denied: "permissions", driver.Schema: "schema",
	driver.Contract: "query",
}

// unread reports a read that failed although the source was reached, unless the engine has found the reason already.
func (x *sourceExam) unread(err error) {
	failure := asFailure(err)
	if (failure.Kind == driver.Denied || failure.Kind == driver.Schema) && x.failed() {
		return
	}
	found, remedy := splitRemedy(failure.Message)
	x.add(checkOfKind[failure.Kind], driver.LevelFail, found, remedy)
}

// sampled reports what a source that can be read holds, and what reading it costs. The first sample is not taken for that:
// it had to connect.
func (x *sourceExam) sampled(ctx context.Context, last storage.Sample) {
	var took []time.Duration
	for range 3 {
		sample, err := x.read(ctx)
		if err != nil {
			x.unread(err)
			return
		}
		took, last = append(took, sample.Took), sample
	}
	slices.Sort(took)
	x.cost(took[len(took)/2])
	x.clock(last)
	x.queues(last)
	x.notes(last.Notes)
}

// share is the part of a connection's time that sampling may take. After a sample, the sampler rests for nine times as
// long.
const share = 10

func (x *sourceExam) cost(took time.Duration) {
	maxAge := x.source.Sampling.MaxAge
	if took*share <= maxAge {
		x.add("cost", driver.LevelOK, fmt.Sprintf("a sample takes %s", show.Age(took)), "")
		return
	}
	x.add("cost", driver.LevelWarn,
		fmt.Sprintf("a sample takes %s, more than a tenth of maxAge, %s: answers will be up to %s old",
			show.Age(took), maxAge, show.Age(share*took)),
		"see indexes above, lower sampling.countLimit, or accept it: sampling.maxAge: "+(share*took).Round(100*time.Millisecond).String())
}

// How far clocks may be apart.
const (
	skewSeen = 2 * time.Second
	skewFar  = 30 * time.Second
)

// clock compares the backend's clock, which decides what is due, with this host's.
func (x *sourceExam) clock(sample storage.Sample) {
	if x.source.Engine == engineSQLite {
		return // it has no clock of its own
	}
	skew := sample.Now.Sub(sample.Started.Add(sample.Took / 2))
	apart, which := skew.Abs(), "ahead of"
	if skew < 0 {
		which = "behind"
	}
	found := fmt.Sprintf("the server's clock is %s %s this host's, and decides what is due",
		show.Age(apart.Truncate(time.Millisecond)), which)
	switch {
	case apart >= skewFar:
		x.add("clock", driver.LevelWarn, found, "set both by NTP: workers that go by their own clock take due jobs too early or too late")
	case apart >= skewSeen:
		x.add("clock", driver.LevelNote, found, "")
	default:
		x.add("clock", driver.LevelOK, "the server's and this host's agree", "")
	}
}

// notes reports what the preset and the engine say of the source, unless a finding has said it.
func (x *sourceExam) notes(notes []string) {
	for _, note := range notes {
		said := slices.ContainsFunc(x.findings, func(f driver.Finding) bool {
			return f.Found != "" && strings.HasPrefix(note, f.Found)
		})
		if !said {
			x.add("note", driver.LevelNote, note, "")
		}
	}
}
