package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A redisApp is a program that uses Asynq on Redis: it enqueues, and it can run workers.
type redisApp struct {
	t      *testing.T
	server *storagetest.RedisServer
	client *asynq.Client
}

// newRedisApp makes an app on a Redis of its own.
func newRedisApp(t *testing.T) *redisApp {
	t.Helper()
	server := storagetest.StartRedis(t, storagetest.WithConfig("appendonly", "yes"))
	a := &redisApp{t: t, server: server, client: asynq.NewClient(asynq.RedisClientOpt{Addr: server.Addr()})}
	t.Cleanup(func() {
		if err := a.client.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// source is a configuration with the app's Redis as its one source, mail.
func (a *redisApp) source() string {
	return fmt.Sprintf("sources: {mail: {url: %q, preset: asynq}}\n", a.server.URL())
}

// enqueue adds a task.
func (a *redisApp) enqueue(opts ...asynq.Option) {
	a.t.Helper()
	if _, err := a.client.EnqueueContext(a.t.Context(), asynq.NewTask("mail", nil), append(opts, asynq.Queue("mail"))...); err != nil {
		a.t.Fatal(err)
	}
}

// work runs a worker until the given number of tasks is done.
func (a *redisApp) work(n int) {
	a.t.Helper()
	done := make(chan struct{}, n)
	worker := asynq.NewServer(asynq.RedisClientOpt{Addr: a.server.Addr()}, asynq.Config{
		Concurrency: 4, Queues: map[string]int{"mail": 1}, LogLevel: asynq.FatalLevel,
	})
	handler := asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		done <- struct{}{}
		return nil
	})
	if err := worker.Start(handler); err != nil {
		a.t.Fatal(err)
	}
	defer worker.Shutdown()
	for range n {
		select {
		case <-done:
		case <-time.After(startTimeout):
			a.t.Fatal("the worker has not done its tasks")
		}
	}
}

func TestFirstJobInRedisIsPushed(t *testing.T) {
	t.Parallel()
	a := newRedisApp(t)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	p.becomes(0)
	for range 3 {
		p.forget()
		p.wokenBy(func() { a.enqueue() }, promptly)
		p.becomes(1)
		a.work(1)
		p.becomes(0)
	}
}

// With no worker there is nobody to promote a scheduled task.
func TestScheduledJobInRedisIsPushedWhenItIsDue(t *testing.T) {
	t.Parallel()
	a := newRedisApp(t)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	const in = 3 * time.Second
	began := time.Now()
	a.enqueue(asynq.ProcessIn(in))
	p.becomes(0)
	// Asynq's scores are whole seconds.
	if took := p.woken(in + promptly).Sub(began); took < in-time.Second {
		t.Errorf("true came %v before the task was due", in-took)
	}
	p.becomes(1)
}

func TestRestartOfRedisIsNeverAZero(t *testing.T) {
	t.Parallel()
	a := newRedisApp(t)
	a.enqueue()
	a.enqueue()
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.woken(promptly)
	p.becomes(2)
	a.server.Kill(t)
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); {
		if value, active, err := p.poll(p.name()); err == nil && (value != 2 || !active) {
			t.Fatalf("value = %v, active = %v while Redis is gone", value, active)
		}
	}
	a.server.Start(t)
	p.becomes(2)
	a.work(2)
	p.becomes(0)
	p.forget()
	p.wokenBy(func() { a.enqueue() }, promptly)
}
