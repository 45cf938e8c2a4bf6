package main

import (
	"context"
	"fmt"
)

// The queue that there is without any configuration: a SQLite file in the working folder.
const (
	embeddedFile = "leadsman.db"
	embeddedURL  = "sqlite:" + embeddedFile
)

// embeddedSource makes the embedded file, with River's schema, unless it is there, and returns its source. It is the
// one place where the server writes anything.
func embeddedSource(ctx context.Context, sampling SamplingConfig) (SourceConfig, error) {
	queue, err := openQueue(ctx, queueOptions{url: embeddedURL, migrate: true})
	if err != nil {
		return SourceConfig{}, fmt.Errorf("the embedded queue: %w", err)
	}
	if err := queue.Close(); err != nil {
		return SourceConfig{}, fmt.Errorf("the embedded queue: %w", err)
	}
	return embeddedConfig(sampling), nil
}

// embeddedConfig is the source in the embedded file.
func embeddedConfig(sampling SamplingConfig) SourceConfig {
	return SourceConfig{
		Name: defaultSource, Engine: engineSQLite, URL: Secret{value: embeddedURL}, Preset: defaultPreset, Sampling: sampling,
	}
}
