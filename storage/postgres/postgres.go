// Package postgres reads job queues in a PostgreSQL database by a preset's SQL, and listens for the job
// library's notifications.
//
// A read is one round trip on one of very few connections that all queues share: the settings that bound the
// statement and keep it honest, the preset's query, and the end of the implicit transaction travel in one
// pipeline. The settings are local to that transaction, so that nothing leaks through a transaction pooler and
// nothing has to be set up on a new connection. (Where a job library's tables differ by version, a connection's first
// read takes a second round trip, for the version; see version.go.) Row-level security that would hide rows is an
// error, never a smaller number.
//
// Watching is one more connection, in autocommit, that always drains. It believes that notifications arrive
// only once it has heard its own canary sing, because a transaction pooler swallows LISTEN without a word. Where a
// database administrator has installed the armed bell, a trigger for libraries that announce nothing, the same
// connection arms it; bell.go tells how.
//
// [Open] does no I/O. The pool has a goroutine that retires connections, which ends with [Engine.Close]; Watch
// runs in its caller's goroutine and starts none that outlives it.
package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
)

// Defaults for Config's zero values.
const (
	DefaultMaxConns      = 2
	DefaultTimeout       = 2 * time.Second
	defaultRunningMaxAge = 24 * time.Hour
)

// Config says where the database is and how it is read.
type Config struct {
	// URL returns the database's URL or keyword string. It is called for every new connection, so that a
	// password that rotates is picked up without a restart.
	URL func() (string, error)
	// ListenURL is URL for the connection that listens, which must not lead through a transaction pooler;
	// nil means URL.
	ListenURL func() (string, error)
	// Schema is where the job library's tables are; "" takes SQL.Schema, and that empty the search path.
	Schema string
	// SQL is the preset.
	SQL driver.SQL
	// MaxConns bounds the connections for reading; 0 means DefaultMaxConns.
	MaxConns int
	// Timeout bounds the preset's statement on the server, half of it the wait for locks, and twice of it the
	// whole read with connecting; 0 means DefaultTimeout.
	Timeout time.Duration
	// RunningMaxAge is how long a running job counts as alive; 0 takes SQL.RunningMaxAge, and that zero 24 h.
	RunningMaxAge time.Duration
	// Pooler does without prepared statements, for transaction poolers. A pooler that chokes on one is
	// recognized without it, at the cost of one retried read.
	Pooler bool
	// Logger takes what an operator should know; nil discards it.
	Logger *slog.Logger
}

// An Engine is a driver.Reader and driver.Watcher over one database. Its methods may be called from several
// goroutines.
type Engine struct {
	cfg      Config
	queries  []query // one, or one per layout of cfg.SQL
	version  query   // chooses among the layouts
	settings query
	dialer   *dialer
	pool     *pgxpool.Pool
	unnamed  atomic.Bool // no prepared statements from here on
	timing   timing
	arming   []armStep // in order
	wanted   wanted    // queues, for the bell

	mu      sync.Mutex
	primary string // the location at which a primary has been seen; "" none yet
}

var (
	_ driver.Reader  = (*Engine)(nil)
	_ driver.Watcher = (*Engine)(nil)
)

// Open makes an Engine. It does no I/O; its errors are faults of cfg.
func Open(cfg Config) (*Engine, error) {
	if cfg.URL == nil {
		return nil, errors.New("postgres: Config.URL is nil")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	queries, version, err := compile(cfg.SQL, cfg.Schema)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	e := &Engine{
		cfg: cfg, queries: queries, version: version,
		settings: settings(cfg.Timeout, cfg.SQL.Static), dialer: newDialer(), timing: defaultTiming, arming: armSteps(),
	}
	e.unnamed.Store(cfg.Pooler)
	if e.pool, err = e.newPool(); err != nil {
		return nil, err
	}
	return e, nil
}

func (c *Config) setDefaults() error {
	if c.MaxConns < 0 || c.Timeout < 0 || c.RunningMaxAge < 0 {
		return errors.New("postgres: MaxConns, Timeout and RunningMaxAge must not be negative")
	}
	if c.ListenURL == nil {
		c.ListenURL = c.URL
	}
	if c.Schema == "" {
		c.Schema = c.SQL.Schema
	}
	if c.MaxConns == 0 {
		c.MaxConns = DefaultMaxConns
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.RunningMaxAge == 0 {
		c.RunningMaxAge = c.SQL.RunningMaxAge
	}
	if c.RunningMaxAge == 0 {
		c.RunningMaxAge = defaultRunningMaxAge
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Query returns the preset's query as it is sent, with the schema in place and the parameters numbered; that of the
// newest layout where there are several.
func (e *Engine) Query() string { return e.queries[len(e.queries)-1].text }

// Queries returns each layout's query, in order, as [Engine.Query] does; or the preset's only one, and after it that of
// activity where there is one.
func (e *Engine) Queries() []string {
	texts := make([]string, 0, len(e.queries)+1)
	for _, q := range e.queries {
		texts = append(texts, q.text)
		if q.activity != nil {
			texts = append(texts, q.activity.text)
		}
	}
	return texts
}

// Close closes the connections and waits for the pool's goroutine. It does not wait for a server that does not answer.
func (e *Engine) Close() error {
	late := time.AfterFunc(closeWait, e.dialer.cut)
	defer late.Stop()
	e.pool.Close()
	e.dialer.cut()
	return nil
}
