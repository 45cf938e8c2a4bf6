package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// enqueue and work do on PostgreSQL what they do on the embedded queue.
func TestEnqueueAndWorkOnPostgres(t *testing.T) {
	dsn := storagetest.Postgres(t)
	store := queueOptions{url: dsn}
	if err := enqueue(t.Context(), store, "mail", 1, 0, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "--migrate") {
		t.Fatalf("without River's tables: %v, want an error that says --migrate", err)
	}
	store.migrate = true
	var out bytes.Buffer
	if err := enqueue(t.Context(), store, "mail", 2100, 0, &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if want := "enqueued 2100 in mail\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	left := 2100
	done := make(chan struct{}, left)
	worked := make(chan error, 1)
	go func() { worked <- work(ctx, store, "mail", 100, 0, func() { done <- struct{}{} }) }()
	for ; left > 0; left-- {
		select {
		case <-done:
		case err := <-worked:
			t.Fatalf("the worker ended with %d jobs left: %v", left, err)
		}
	}
	stop()
	if err := <-worked; err != nil {
		t.Error(err)
	}
}
