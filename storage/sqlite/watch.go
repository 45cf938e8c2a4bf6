package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

const (
	// pollEvery is how often the file system is asked whether the file changed, in case its events are lost or
	// cannot be had.
	pollEvery = 250 * time.Millisecond
	// watchIdle is how long the counter stays open after the last event. Until then each poll asks it too, for
	// commits that take long to become visible: a disk that syncs slowly.
	watchIdle = time.Second
	// retryAfter is how long to wait with watching a folder that is there and cannot be watched.
	retryAfter = 10 * time.Second
)

// watch is one Watch call. All of it belongs to the calling goroutine.
type watch struct {
	sink    driver.Sink
	log     *slog.Logger
	network func(path string) string

	named   string  // the file's path as configured
	path    string  // the same with symbolic links followed: there SQLite puts its -wal
	folder  *folder // file events; nil where they cannot be had
	counter counter
	seen    trace

	lastCheck  time.Time // of the folder
	retryAt    time.Time // of watching the folder, where that failed
	lastEvent  time.Time
	lastLook   time.Time
	lastSignal time.Time
	pushed     push // what the sink was told last
}

// push is how changes are noticed, and why if not in the best way.
type push struct {
	mode   driver.Mode
	reason string
}

// Watch implements driver.Watcher. It never returns an error: where file events cannot be had it says so through
// sink and goes on by asking the file system, four times a second.
func (e *Engine) Watch(ctx context.Context, sink driver.Sink) error {
	w := &watch{sink: sink, log: e.log, network: e.network, named: e.cfg.Path}
	defer w.stop()
	w.attach()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-w.folder.events():
			if !open {
				w.detach()
			} else if w.concerns(event) {
				w.burst(ctx)
			}
		case err := <-w.folder.errors():
			// Events were lost (the kernel's queue overflowed): as good as an event.
			w.log.Debug("sqlite file events failed", "file", w.path, "error", err)
			w.burst(ctx)
		case <-poll.C:
			w.poll(ctx)
		}
	}
}

func (w *watch) stop() {
	w.detach()
	w.closeCounter()
}

// attach begins to watch the folder that holds the file now, and signals for what was missed before. Where there
// are still no events, for the reason already told, nothing happens.
func (w *watch) attach() {
	w.detach()
	path := resolve(w.named)
	folder, err := openFolder(path)
	now := push{mode: driver.ModeFile}
	if err != nil {
		now = push{driver.ModeEdgePoll, folderReason(path, err)}
		if !errors.Is(err, fs.ErrNotExist) {
			w.retryAt = time.Now().Add(retryAfter)
		}
		if now == w.pushed && path == w.path {
			return
		}
	} else if name := w.network(path); name != "" {
		now = push{driver.ModeEdgePoll, networkReason(path, name)}
	}
	w.closeCounter()
	w.folder, w.path, w.counter.path, w.seen = folder, path, path, traceOf(path)
	if now != w.pushed {
		w.pushed = now
		w.sink.Push(now.mode, now.reason)
	}
	w.signal()
}

// detach ends the file events; the next poll attaches again.
func (w *watch) detach() {
	if err := w.folder.close(); err != nil {
		w.log.Debug("closing sqlite file events failed", "file", w.path, "error", err)
	}
	w.folder = nil
}

// poll looks after what events do not tell: a folder that was missing or replaced, a change without an event, a
// commit that became visible late, and that the counter closes.
func (w *watch) poll(ctx context.Context) {
	w.checkFolder()
	now := traceOf(w.path)
	switch {
	case !now.equal(w.seen):
		if now.replaced(w.seen) {
			w.closeCounter()
		}
		w.seen = now
		w.burst(ctx)
	case w.counter.file == nil:
	case time.Since(w.lastEvent) > watchIdle:
		w.closeCounter()
	default:
		w.look() //nolint:contextcheck // see counter.moved
	}
}

// checkFolder attaches anew if the folder is not watched, was replaced, or is no longer where the file is.
func (w *watch) checkFolder() {
	w.lastCheck = time.Now()
	switch {
	case w.folder == nil && time.Now().Before(w.retryAt):
	case w.folder == nil, resolve(w.named) != w.path, w.folder.moved():
		w.attach()
	}
}

func (w *watch) closeCounter() {
	if err := w.counter.close(); err != nil {
		w.log.Debug("closing sqlite counter failed", "file", w.path, "error", err)
	}
}

func (w *watch) signal() {
	w.lastSignal = time.Now()
	w.sink.Signal("")
}
