package redistest

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Noon is the time of the reviewed commands, for a fixture's clock.
func Noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// Golden compares the commands that reads send with the reviewed ones, in testdata/commands.golden. The options of an ask
// that has none are the preset's defaults.
func Golden(t *testing.T, server *storagetest.RedisServer, preset *driver.Redis, asks ...driver.RedisAsk) {
	t.Helper()
	var commands strings.Builder
	for _, ask := range asks {
		if reflect.ValueOf(ask.RedisOptions).IsZero() {
			ask.RedisOptions = preset.Defaults
		}
		commands.WriteString(Commands(t, server, preset, ask))
	}
	storagetest.Golden(t, filepath.Join("testdata", "commands.golden"), commands.String())
}

// LeastPrivilege reads wants as the user whom the preset's README.md documents, and compares the queues with want, ages give
// or take a minute. Nothing may be refused: no read fails, and no notes are there but the preset's own. It returns the
// user's engine.
func LeastPrivilege(
	t *testing.T, server *storagetest.RedisServer, preset *driver.Redis, options driver.RedisOptions,
	want []driver.Queue, wants ...driver.Want,
) *redis.Engine {
	t.Helper()
	engine := Open(t, preset, options, User(t, server))
	reading := Read(t, engine, wants...)
	ages := cmp.FilterPath(func(path cmp.Path) bool {
		field := path.Last().String()
		return field == ".Oldest" || field == ".NextDue"
	}, cmp.Comparer(near))
	if diff := cmp.Diff(want, reading.Queues, ages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(preset.Notes, reading.Notes, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("notes (-preset's +got):\n%s", diff)
	}
	return engine
}

// Announced makes sure that an engine to which tracking is refused hears of each change, by queue, from the library's own
// announcements.
func Announced(t *testing.T, engine *redis.Engine, changes map[string]func(queue string)) {
	t.Helper()
	told := storagetest.Watch(t, engine)
	told.AwaitMode(t, driver.ModeEvents, "")
	if reason := told.Told().Reason; reason != "" {
		t.Errorf("the library's announcements are listened to with a reservation: %q", reason)
	}
	signalled := func(queue string, before storagetest.Told) {
		t.Helper()
		told.Await(t, "a signal of "+queue, func(now storagetest.Told) bool { return now.Signals[queue] > before.Signals[queue] })
	}
	for queue, change := range changes {
		before := told.Told()
		ReadQueue(t, engine, queue)
		signalled(queue, before) // for what was missed
		before = told.Told()
		change(queue)
		signalled(queue, before)
	}
}
