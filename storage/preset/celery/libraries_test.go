//go:build libraries

package celery_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/celery"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Celery itself.
type library struct{ storagetest.LibraryFixture }

// newLibrary has workers acknowledge tasks when they are done, so that those that run are to be seen.
func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	return openLibrary(tb, server, map[string]any{"task_acks_late": true})
}

func openLibrary(tb testing.TB, server *storagetest.RedisServer, config map[string]any) library {
	tb.Helper()
	program := storagetest.Python(tb, "drive_celery", "celery")
	return library{storagetest.OpenLibraryFixture(tb, server, program, map[string]any{"config": config})}
}

// Cancel is Finish: a worker takes a revoked task like any, and drops it.
func (l library) Cancel(queue string, n int) { l.Finish(queue, n) }

// What follows is never called: tasks that are put off are in workers' hands, and a queue cannot be paused.

func (l library) Schedule(string, int, time.Duration) {
	l.TB.Fatal("Celery schedules nothing in Redis")
}

func (l library) Pause(string) { l.TB.Fatal("Celery pauses no queue") }

func (l library) Orphan(string, int, time.Duration) { l.TB.Fatal("Celery gives all tasks back") }

func (l library) Fail(string, int, time.Duration) { l.TB.Fatal("Celery retries nothing in Redis") }

func (l library) Snooze(string, int, time.Duration) { l.TB.Fatal("Celery retries nothing in Redis") }

func TestCeleryItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(celery.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

// With late acknowledgement what runs is in unacked, as what waits for its time is.
func TestTheCountsAreWhatCeleryReports(t *testing.T) {
	l, engine := redistest.Start(t, celery.Preset.Redis, driver.RedisOptions{}, newLibrary)
	l.Finish("mail", 2)
	l.Run("images", 1)
	l.Run("mail", 3)
	l.Insert("mail", 2)
	l.Enqueue("mail", 4, map[string]any{"priority": 9})
	compare := func(queue string, waiting, active, later int) {
		t.Helper()
		redistest.Expect(t, engine, driver.Queue{Name: queue, Known: true, Ready: int64(waiting), Running: int64(active + later)})
		said := l.Report(queue).Counts
		if said["messages"] != waiting || said["active"] != active || said["scheduled"] != later {
			t.Errorf("Celery says of %s: %v, want %d waiting, %d active, %d for later", queue, said, waiting, active, later)
		}
	}
	compare("mail", 6, 3, 0)
	compare("images", 0, 1, 0)
	l.Abandon("mail")
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 6, Running: 3})

	l.Library.Schedule("later", 2, time.Hour)
	compare("later", 2, 0, 0)
	l.Run("later", 1) // takes the others, too
	compare("later", 0, 1, 2)
}

// By default Celery acknowledges a task when it begins, and what is in unacked is what was prefetched (case 44).
func TestWithEarlyAcknowledgementRunningIsWhatWasPrefetched(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := openLibrary(t, server, map[string]any{"worker_prefetch_multiplier": 4, "task_acks_late": false})
	engine := redistest.Open(t, celery.Preset.Redis, driver.RedisOptions{}, server.URL())
	l.Insert("mail", 10)
	l.Start("mail", 1)
	want := driver.Queue{Name: "mail", Known: true, Ready: 5, Running: 4} // and one that nobody sees
	for deadline := time.Now().Add(time.Minute); redistest.ReadQueue(t, engine, "mail") != want && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // until the worker has its fill
	}
	redistest.Expect(t, engine, want)
	if said := l.Report("mail").Counts; said["messages"] != 5 || said["active"] != 1 {
		t.Errorf("Celery says %v, want 5 waiting and 1 active", said)
	}
}

func TestCelerysTransportOptionsAreTheSources(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := openLibrary(t, server, map[string]any{"task_acks_late": true, "broker_transport_options": map[string]any{
		"global_keyprefix": "app:", "sep": ":", "priority_steps": []int{0, 5},
	}})
	options := driver.RedisOptions{Prefix: "app:", Separator: ":", PrioritySteps: []int{0, 5}}
	engine := redistest.Open(t, celery.Preset.Redis, options, server.URL())
	l.Run("mail", 2)
	l.Insert("mail", 1)
	l.Enqueue("mail", 4, map[string]any{"priority": 7})
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 5, Running: 2})
}

// A task that is sent to a topic exchange is known by the exchange's bindings.
func TestTasksOfATopicExchangeCountInItsQueue(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := openLibrary(t, server, map[string]any{"task_acks_late": true, "task_queues": map[string]any{
		"mail": map[string]any{"exchange": "jobs", "exchange_type": "topic", "binding_key": "mail.#"},
	}})
	engine := redistest.Open(t, celery.Preset.Redis, driver.RedisOptions{}, server.URL())
	l.Run("mail", 2)
	l.Insert("mail", 1)
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 2})
	redistest.Expect(t, engine, driver.Queue{Name: "images"})
}
