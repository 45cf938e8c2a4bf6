package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

const (
	defaultTimeout     = 3 * time.Second
	defaultBusyTimeout = time.Second

	// readIdle is how long the reading connection stays open after a read. It serves the reads that follow one
	// commit and is shorter than the sampler's second, so that a steady poll does not keep the file open.
	readIdle = 250 * time.Millisecond
)

// Config is what an Engine needs to know.
type Config struct {
	// Path is the database file; see [ParseURL]. A relative one is taken from the working directory at Open.
	Path string
	// SQL is how the job library lays out its queues.
	SQL driver.SQL
	// Schema must be empty: a SQLite file has no schemas, and an attached database is not supported.
	Schema string
	// Timeout bounds one read, waiting for locks included; 0 means 3 s.
	Timeout time.Duration
	// BusyTimeout is how long a read waits for a writer's lock; 0 means 1 s. Must be shorter than Timeout.
	BusyTimeout time.Duration
	// RunningMaxAge is the age after which a running job counts as an orphan; 0 means the SQL's.
	RunningMaxAge time.Duration
	// Logger gets what is no error of a read; nil discards it.
	Logger *slog.Logger
}

// An Engine reads and watches one SQLite file. Its methods may be called from several goroutines.
type Engine struct {
	cfg      Config   // complete: defaults filled in, Path absolute
	queries  []string // one, or one per layout of cfg.SQL, ready to be prepared
	activity string   // likewise, for reads that ask for no more than activity; "" where there is none
	version  string   // chooses among the layouts; "" when there is but one query
	log      *slog.Logger

	// network names the network file system that holds a path, or "". It is networkFS but in tests.
	network func(path string) string

	// turn is held by whoever uses file and closed: a channel, so that waiting for it ends with a context.
	turn   chan struct{}
	file   *file // nil when not open
	closed bool
	idle   *time.Timer // runs closeIdle
}

var (
	_ driver.Reader  = (*Engine)(nil)
	_ driver.Watcher = (*Engine)(nil)
)

// Open makes an Engine. It does no I/O: a file that is missing shows as an error of Read.
func Open(cfg Config) (*Engine, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		activity: prepareText(cfg.SQL.Activity),
		version:  prepareText(cfg.SQL.Version),
		log:      cfg.Logger,
		network:  networkFS,
		turn:     make(chan struct{}, 1),
	}
	for _, query := range layout.Queries(cfg.SQL) {
		e.queries = append(e.queries, prepareText(query))
	}
	e.idle = time.AfterFunc(time.Hour, e.closeIdle)
	e.idle.Stop()
	return e, nil
}

// complete checks c and fills in the defaults. It reports all faults at once.
func (c Config) complete() (Config, error) {
	var faults []error
	path, err := absolute(c.Path)
	if err != nil {
		faults = append(faults, err)
	}
	c.Path = path
	if err := layout.Check(c.SQL); err != nil {
		faults = append(faults, fmt.Errorf("sqlite: %w", err))
	}
	if c.Schema != "" || c.SQL.Schema != "" {
		faults = append(faults, fmt.Errorf("sqlite: schema %q: a SQLite file has no schemas; remove the key",
			c.Schema+c.SQL.Schema))
	}
	c.Timeout = orDefault(c.Timeout, defaultTimeout)
	c.BusyTimeout = orDefault(c.BusyTimeout, min(defaultBusyTimeout, c.Timeout/2))
	c.RunningMaxAge = orDefault(c.RunningMaxAge, c.SQL.RunningMaxAge)
	if c.Timeout < 0 || c.BusyTimeout < 0 || c.RunningMaxAge < 0 {
		faults = append(faults, errors.New("sqlite: timeouts and ages cannot be negative"))
	}
	if c.BusyTimeout >= c.Timeout {
		faults = append(faults, fmt.Errorf("sqlite: busyTimeout %s must be shorter than timeout %s", c.BusyTimeout, c.Timeout))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, errors.Join(faults...)
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("sqlite: no file named; write url: sqlite:jobs.db")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return abs, nil
}

// Close closes the file.
func (e *Engine) Close() error {
	if err := e.take(context.Background()); err != nil {
		return nil // closed before
	}
	defer e.yield()
	e.closed = true
	e.idle.Stop()
	return e.closeFile()
}

// take waits for the turn to use the file. The error is ctx's, or says that the Engine is closed.
func (e *Engine) take(ctx context.Context) error {
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.closed {
		e.yield()
		return driver.Errorf(driver.Unavailable, "%s: the source is closed", e.cfg.Path)
	}
	return nil
}

func (e *Engine) yield() { <-e.turn }

// closeIdle is run by the idle timer. A read that has the turn will set the timer again.
func (e *Engine) closeIdle() {
	select {
	case e.turn <- struct{}{}:
	default:
		return
	}
	defer e.yield()
	if err := e.closeFile(); err != nil {
		e.log.Debug("closing idle sqlite file failed", "file", e.cfg.Path, "error", err)
	}
}

// closeFile closes the file if it is open; its caller has the turn.
func (e *Engine) closeFile() error {
	if e.file == nil {
		return nil
	}
	err := e.file.close()
	e.file = nil
	return err
}
