package rig

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// An AsynqApp is a program that uses Asynq on Redis: it enqueues, and it can run workers.
type AsynqApp struct {
	Server *storagetest.RedisServer // nil if the app does not own it

	tb     testing.TB
	redis  asynq.RedisConnOpt
	client *asynq.Client
}

// NewAsynqApp makes an app on a Redis of its own, which keeps its data over a crash.
func NewAsynqApp(tb testing.TB) *AsynqApp {
	tb.Helper()
	server := storagetest.StartRedis(tb, storagetest.WithConfig("appendonly", "yes"))
	a := NewAsynqAppOn(tb, asynq.RedisClientOpt{Addr: server.Addr()})
	a.Server = server
	return a
}

// NewAsynqAppOn makes an app on any Redis.
func NewAsynqAppOn(tb testing.TB, redis asynq.RedisConnOpt) *AsynqApp {
	tb.Helper()
	a := &AsynqApp{tb: tb, redis: redis, client: asynq.NewClient(redis)}
	tb.Cleanup(func() {
		if err := a.client.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a
}

// Source is a configuration with the app's own Redis as its one source, mail.
func (a *AsynqApp) Source() string {
	return fmt.Sprintf("sources: {mail: {url: %q, preset: asynq}}\n", a.Server.URL())
}

// Enqueue adds a task, to the queue mail unless opts name another.
func (a *AsynqApp) Enqueue(opts ...asynq.Option) {
	a.tb.Helper()
	opts = append([]asynq.Option{asynq.Queue("mail")}, opts...)
	if _, err := a.client.EnqueueContext(a.tb.Context(), asynq.NewTask("mail", nil), opts...); err != nil {
		a.tb.Fatal(err)
	}
}

// EnqueueOnce adds a task with an id, if there is none in the queue. After an error it may or may not be there.
func (a *AsynqApp) EnqueueOnce(ctx context.Context, queue, id string) error {
	_, err := a.client.EnqueueContext(ctx, asynq.NewTask("mail", nil), asynq.Queue(queue), asynq.TaskID(id))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil
	}
	return err
}

// Discard deletes all tasks of a queue that wait.
func (a *AsynqApp) Discard(queue string) {
	a.tb.Helper()
	inspector := asynq.NewInspector(a.redis)
	defer inspector.Close()
	if _, err := inspector.DeleteAllPendingTasks(queue); err != nil {
		a.tb.Fatal(err)
	}
}

// Work runs a worker until the given number of tasks is done.
func (a *AsynqApp) Work(n int) {
	a.tb.Helper()
	done := make(chan struct{}, n)
	worker := asynq.NewServer(a.redis, asynq.Config{
		Concurrency: 4, Queues: map[string]int{"mail": 1}, LogLevel: asynq.FatalLevel,
	})
	handler := asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		done <- struct{}{}
		return nil
	})
	if err := worker.Start(handler); err != nil {
		a.tb.Fatal(err)
	}
	defer worker.Shutdown()
	for range n {
		select {
		case <-done:
		case <-time.After(startTimeout):
			a.tb.Fatal("the worker has not done its tasks")
		}
	}
}
