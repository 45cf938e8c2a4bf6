package main

import (
	"context"
	"fmt"
	"os"
)

// The queue that there is without any configuration: a SQLite file in the working folder.
const (
	embeddedFile = "leadsman.db"
	embeddedURL  = "sqlite:" + embeddedFile
)

// embeddedSource makes the embedded file, with River's schema, unless it is there, and returns its source. It is the
// one place where the server writes anything.
func embeddedSource(ctx context.Context, sampling SamplingConfig) (SourceConfig, error) {
	if err := writable(embeddedFile); err != nil {
		return SourceConfig{}, err
	}
	queue, err := openQueue(ctx, queueOptions{url: embeddedURL, migrate: true})
	if err != nil {
		return SourceConfig{}, fmt.Errorf("the embedded queue: %w", err)
	}
	if err := queue.Close(); err != nil {
		return SourceConfig{}, fmt.Errorf("the embedded queue: %w", err)
	}
	return embeddedConfig(sampling), nil
}

// writable tells whether the file can be written, or made. An image has no folder where it can, and its SQLite would say no
// more than that it cannot open a database.
func writable(name string) error {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // as SQLite makes it
	if err != nil {
		return fmt.Errorf("no source is configured, and the embedded queue cannot be written: %w; "+
			"name a configuration by --config, set LEADSMAN_URL, or start it in a folder that it may write to", err)
	}
	return file.Close()
}

// embeddedConfig is the source in the embedded file.
func embeddedConfig(sampling SamplingConfig) SourceConfig {
	return SourceConfig{
		Name: defaultSource, Engine: engineSQLite, URL: Secret{value: embeddedURL}, Preset: defaultPreset, Sampling: sampling,
	}
}
