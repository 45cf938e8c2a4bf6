package storagetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/storage/driver"
)

// failureTests are about reads that go wrong or into each other's way.
var failureTests = []suiteTest{
	{"ReadReturnsPromptlyWhenItsContextIsDone", nil, testContextDone},
	{"ReadAnswersManyAtOnce", nil, testConcurrent},
	{"ReadOfAStoreWithoutTablesIsASchemaError", bare, testBare},
}

func testContextDone(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	reading, err := s.reader.Read(ctx, driver.Request{Wants: named("mail")})
	if err == nil {
		t.Errorf("Read succeeded with a context that is done: %+v", reading)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("Read took %s to notice that its context is done", took)
	}
	if got := s.queue("mail").Ready; got != 1 {
		t.Errorf("the read after it: ready = %d, want 1", got)
	}
}

func testConcurrent(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group errgroup.Group
	for range 16 {
		group.Go(func() error {
			for last := int64(1); last < 21; {
				sample, err := s.source.Read(ctx, driver.Request{Wants: named("mail", "nobody")})
				if err != nil {
					return err
				}
				for _, q := range sample.Queues {
					if q.Name != "mail" {
						continue
					}
					if q.Ready < last {
						return errors.New("a later read saw fewer jobs")
					}
					last = q.Ready
				}
			}
			return nil
		})
	}
	for range 20 {
		s.Insert("mail", 1)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func testBare(t *testing.T, h Harness) {
	reader := h.OpenBare(t)
	own(t, reader)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, want := range []driver.Want{{Queue: "mail"}, {}} {
		reading, err := reader.Read(ctx, driver.Request{Wants: []driver.Want{want}, Limit: 10})
		var known *driver.Error
		if !errors.As(err, &known) || known.Kind != driver.Schema {
			t.Errorf("Read(%v) = %+v, %v; want a *driver.Error of Kind schema", want, reading, err)
		}
	}
}
