package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Config is one source in Redis.
type Config struct {
	// URL returns where the server is; it is called for each session, because passwords rotate. The forms are
	// those of [Forms].
	URL func() (string, error)
	// Redis is the preset, Options what the source says of its layout; what it leaves open is the preset's default.
	Redis   *driver.Redis
	Options driver.RedisOptions
	// Timeout bounds connecting and, where a caller sets no deadline, each read. 0 is 2 s.
	Timeout time.Duration
	// RunningMaxAge is how long running jobs count; 0 leaves it to the preset.
	RunningMaxAge time.Duration
	// Logger takes what is noticed beside errors; nil for none.
	Logger *slog.Logger
}

// An Engine reads and watches one source. It implements driver.Reader and driver.Watcher.
type Engine struct {
	cfg     Config
	options driver.RedisOptions
	log     *slog.Logger
	timing  timing

	dialing sync.Mutex // held by who begins a session
	current atomic.Pointer[session]
	closed  atomic.Bool
	tasks   sync.WaitGroup // what sessions leave running

	keys watched
	near nearNames
	sink atomic.Pointer[driver.Sink] // of the Watch that runs
}

// Open makes an Engine. It does no I/O but reading certificates that the URL names.
func Open(cfg Config) (*Engine, error) {
	if cfg.URL == nil || cfg.Redis == nil || cfg.Redis.Queue == nil {
		return nil, errors.New("redis: Config needs a URL and a preset")
	}
	text, err := cfg.URL()
	if err != nil {
		return nil, err
	}
	if err := CheckURL(text); err != nil {
		return nil, err
	}
	options := withDefaults(cfg.Options, cfg.Redis.Defaults)
	if check := cfg.Redis.Check; check != nil {
		if err := check(&options); err != nil {
			return nil, err
		}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, options: options, log: cfg.Logger, timing: defaultTiming}
	e.keys = watched{keys: map[string]*watchedKey{}, changed: make(chan struct{}, 1)}
	return e, nil
}

func withDefaults(o, defaults driver.RedisOptions) driver.RedisOptions {
	if o.Prefix == "" {
		o.Prefix = defaults.Prefix
	}
	if o.PrioritySteps == nil {
		o.PrioritySteps = defaults.PrioritySteps
	}
	if o.Separator == "" {
		o.Separator = defaults.Separator
	}
	if o.Group == "" {
		o.Group = defaults.Group
	}
	if o.Keys == nil {
		o.Keys = defaults.Keys
	}
	if o.Queues == nil {
		o.Queues = defaults.Queues
	}
	return o
}

// Close implements driver.Reader.
func (e *Engine) Close() error {
	e.dialing.Lock()
	e.closed.Store(true)
	if s := e.current.Swap(nil); s != nil {
		s.end()
	}
	e.dialing.Unlock()
	e.tasks.Wait()
	return nil
}

// session returns the session in use, or begins one.
func (e *Engine) session(ctx context.Context) (*session, error) {
	if s := e.current.Load(); s != nil {
		return s, nil
	}
	e.dialing.Lock()
	defer e.dialing.Unlock()
	if s := e.current.Load(); s != nil {
		return s, nil
	}
	if e.closed.Load() {
		return nil, driver.Errorf(driver.Unavailable, "the source is closed")
	}
	s, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	e.current.Store(s)
	return s, nil
}

// drop ends a session that was found broken, unless that has been done.
func (e *Engine) drop(s *session) {
	if e.current.CompareAndSwap(s, nil) {
		s.end()
	}
}
