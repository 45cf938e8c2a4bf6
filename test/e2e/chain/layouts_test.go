package chain

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A producer is a program that uses a job library: it enqueues to the queue mail, and works jobs off there.
type producer struct {
	source  string // a configuration of leadsman with its database as the one source, mail
	enqueue func(n int)
	work    func(n int) // until n jobs are done, all that there are
}

// Where jobs are, and whose they are, is no concern of KEDA's: from zero, by the backlog, and back to zero.
func TestWorkersFollowTheBacklogOf(t *testing.T) {
	t.Parallel()
	for library, open := range map[string]func(*testing.T) producer{
		"BullMQ":          bullMQ,
		"Asynq":           asynqInRedis,
		"River in SQLite": riverInSQLite,
	} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			w := newWorker(t)
			w.scaled(install(t, p.source), spec{"target": 10})
			w.ready()
			w.becomes(0)
			w.follows(p)
		})
	}
}

// follows expects of a worker with target 10 that it starts at the first job, has replicas by its backlog, and ends with it.
func (w *worker) follows(p producer) {
	w.t.Helper()
	p.enqueue(1)
	w.becomes(1)
	p.enqueue(34)
	w.becomes(4) // one for each ten, and one for the rest
	p.work(35)
	w.becomes(0)
}

// riverInPostgres is River in PostgreSQL, with an app that there is.
func riverInPostgres(app *rig.RiverApp) producer {
	return producer{
		source:  app.Source(),
		enqueue: func(n int) { app.Enqueue("mail", n) },
		work:    func(int) { app.Work("mail") },
	}
}

// bullMQ is BullMQ itself on Node, with the keys of its newest layout.
func bullMQ(t *testing.T) producer {
	server := storagetest.StartRedis(t)
	library := storagetest.OpenLibrary(t, storagetest.Node(t, "bullmq"), map[string]any{"release": "bullmq6", "url": server.URL()})
	return producer{
		source:  fmt.Sprintf("sources: {mail: {url: %q, preset: bullmq}}\n", server.URL()),
		enqueue: func(n int) { library.Enqueue("mail", n, nil) },
		work: func(n int) {
			library.Start("mail", n)
			library.Finish("mail")
		},
	}
}

func asynqInRedis(t *testing.T) producer {
	app := rig.NewAsynqApp(t)
	return producer{
		source: app.Source(),
		enqueue: func(n int) {
			for range n {
				app.Enqueue()
			}
		},
		work: app.Work,
	}
}

// riverInSQLite is River in a file, by way of leadsman's own commands.
func riverInSQLite(t *testing.T) producer {
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "jobs.db")
	storagetest.RiverSQLite(t, filepath.Join(dir, "jobs.db")) // has its tables, and is empty
	return producer{
		source: fmt.Sprintf("sources: {mail: {url: %q, preset: river}}\n", url),
		enqueue: func(n int) {
			rig.Run(t, dir, "enqueue", "mail", "--count", strconv.Itoa(n), "--url", url)
		},
		work: func(n int) {
			worker := rig.Start(t, rig.Leadsman(t, dir, "work", "mail", "--url", url, "--concurrency", "10", "--for", "0s"))
			defer worker.Terminate()
			rig.Eventually(t, settled, "the worker has done all jobs", func() bool {
				return len(worker.Log.Find(strconv.Itoa(n)+" jobs done")) > 0
			})
		},
	}
}
