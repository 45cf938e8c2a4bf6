package main

import (
	"context"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// pushPatience is how long the push self-test may take: engines try each way with a deadline of its own.
const pushPatience = 10 * time.Second

// A firstPush is a driver.Sink that takes the first mode it hears of.
type firstPush chan pushed

type pushed struct {
	mode   driver.Mode
	reason string
}

func (f firstPush) Signal(string) {}

func (f firstPush) Push(mode driver.Mode, reason string) {
	select {
	case f <- pushed{mode, reason}:
	default:
	}
}

// push watches the source as the server does until it says in which way changes are noticed.
func (x *sourceExam) push(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pushPatience)
	defer cancel()
	first, ended := make(firstPush, 1), make(chan error, 1)
	go func() { ended <- x.opened.Watch(ctx, first) }()
	var now pushed
	select {
	case now = <-first:
		cancel()
		<-ended //nolint:errcheck // its end was asked for
	case err := <-ended:
		now = pushed{driver.ModeEdgePoll, "it was not found out in time"}
		select {
		case now = <-first: // it was said just before the end
		default:
			if err != nil {
				now.reason = asFailure(err).Message
			}
		}
	}
	x.pushed(now)
}

// modeMeans says of each mode how it notices a change.
var modeMeans = map[driver.Mode]string{
	driver.ModeListen:   "NOTIFY; a canary that another connection sent was heard",
	driver.ModeBell:     "the bell is installed on every table, and a canary that another connection sent was heard",
	driver.ModeTracking: "the server tells when a key that was read is written",
	driver.ModeEvents:   "the library announces its jobs",
	driver.ModeKeyspace: "the server announces writes to the keys",
	driver.ModeFile:     "the kernel tells of writes to the file",
	driver.ModeDirect:   "in this process",
	driver.ModeEdgePoll: "it is asked four times a second while somebody waits for a job",
}

// pushed reports the mode, and why it is not a better one.
func (x *sourceExam) pushed(now pushed) {
	found := string(now.mode) + ": " + modeMeans[now.mode]
	level := driver.LevelOK
	switch {
	case now.mode == driver.ModeEdgePoll:
		level = driver.LevelWarn
	case now.reason != "":
		level = driver.LevelNote
	}
	why, remedy := splitRemedy(now.reason)
	if before, _, ok := strings.Cut(now.reason, "`leadsman trigger-sql"); ok {
		why, remedy = strings.TrimRight(strings.TrimSuffix(before, "install anew what "), ";: "), x.bellCommand()
	}
	if why != "" {
		found += ", because " + why
	}
	x.add("push", level, found, remedy)
}

// bellCommand installs the bell.
func (x *sourceExam) bellCommand() string {
	c := x.source
	command := "leadsman trigger-sql " + c.Preset
	if c.Schema != "" {
		command += " --schema " + shellQuote(c.Schema)
	}
	return "for push, as the tables' owner run: " + command + " | psql -v ON_ERROR_STOP=1 postgres://OWNER@" + x.location
}

// shellQuote makes one word of a text for a shell.
func shellQuote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
