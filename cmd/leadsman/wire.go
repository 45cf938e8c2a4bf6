package main

import (
	"fmt"
	"log/slog"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/sql"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/sqlite"
)

// An opened is an engine and what is known of it beforehand.
type opened struct {
	reader   driver.Reader
	static   bool // its query takes no parameters
	location string
	secrets  func() []string
}

// openSources makes the sources of a configuration. It does no I/O but reading files that hold URLs.
func openSources(configs []SourceConfig, log *slog.Logger) ([]scaler.Source, error) {
	sources := make([]scaler.Source, 0, len(configs))
	for i := range configs {
		src, err := openSource(&configs[i], log)
		if err != nil {
			closeSources(sources)
			return nil, fmt.Errorf("sources.%s: %w", configs[i].Name, err)
		}
		sources = append(sources, src)
	}
	return sources, nil
}

func openSource(c *SourceConfig, log *slog.Logger) (scaler.Source, error) {
	preset := presets[c.Preset]
	if c.Preset == presetSQL {
		var err error
		if preset, err = sql.New(c.Query, c.Listen); err != nil {
			return scaler.Source{}, err
		}
	}
	engine, err := engines[c.Engine](*c, preset, log.With("source", c.Name))
	if err != nil {
		return scaler.Source{}, err
	}
	src, err := storage.New(c.Name, engine.reader,
		storage.WithSecrets(engine.secrets),
		storage.WithTraits(storage.Traits{
			Engine: c.Engine, Preset: c.Preset, Location: engine.location, NoLookahead: engine.static,
		}))
	if err != nil {
		return scaler.Source{}, err
	}
	return scaler.Source{
		Source: src,
		MaxAge: c.Sampling.MaxAge, StaleAfter: c.Sampling.StaleAfter, Timeout: c.Sampling.Timeout,
		Resync: c.Sampling.Resync, CountLimit: &c.Sampling.CountLimit,
	}, nil
}

func closeSources(sources []scaler.Source) {
	for i := range sources {
		_ = sources[i].Close() // nothing was opened that could fail to close
	}
}

func openPostgres(c SourceConfig, preset driver.Preset, log *slog.Logger) (opened, error) {
	cfg := postgres.Config{
		URL: c.URL.Get, Schema: c.Schema, SQL: *preset.Postgres, MaxConns: c.MaxConns, Timeout: c.Sampling.Timeout,
		RunningMaxAge: c.RunningMaxAge, Pooler: c.Pooler, Logger: log,
	}
	if !c.ListenURL.IsZero() {
		cfg.ListenURL = c.ListenURL.Get
	}
	engine, err := postgres.Open(cfg)
	if err != nil {
		return opened{}, err
	}
	dsn, _ := c.URL.Get() // a file that is missing now may be there when the engine connects
	return opened{reader: engine, static: preset.Postgres.Static, location: postgres.Location(dsn), secrets: c.secrets}, nil
}

// secrets returns what must not be shown of the source's URLs as they are now.
func (c *SourceConfig) secrets() []string {
	var all []string
	for _, url := range []Secret{c.URL, c.ListenURL} {
		if dsn, err := url.Get(); err == nil && dsn != "" {
			if c.Engine == engineRedis {
				all = append(all, redis.Secrets(dsn)...)
			} else {
				all = append(all, postgres.Secrets(dsn)...)
			}
		}
	}
	return all
}

func openRedis(c SourceConfig, preset driver.Preset, log *slog.Logger) (opened, error) {
	engine, err := redis.Open(redis.Config{
		URL: c.URL.Get, Redis: preset.Redis, Options: c.Redis, Timeout: c.Sampling.Timeout, RunningMaxAge: c.RunningMaxAge, Logger: log,
	})
	if err != nil {
		return opened{}, err
	}
	url, _ := c.URL.Get() // a file that is missing now may be there when the engine connects
	return opened{reader: engine, location: redis.Location(url), secrets: c.secrets}, nil
}

func openSQLite(c SourceConfig, preset driver.Preset, log *slog.Logger) (opened, error) {
	url, err := c.URL.Get()
	if err != nil {
		return opened{}, err
	}
	path, err := sqlite.ParseURL(url)
	if err != nil {
		return opened{}, err
	}
	engine, err := sqlite.Open(sqlite.Config{
		Path: path, SQL: *preset.SQLite, Schema: c.Schema, Timeout: c.Sampling.Timeout, RunningMaxAge: c.RunningMaxAge, Logger: log,
	})
	if err != nil {
		return opened{}, err
	}
	return opened{reader: engine, static: preset.SQLite.Static, location: path}, nil
}
