package scaler_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// mixed is a queue of 3 ready and 2 running jobs, and one that is due in a minute.
func mixed() *memory.Store {
	store := memory.New()
	store.Set("mail", memory.State{
		Ready: 3, Running: 2, Oldest: 90 * time.Second, Due: []time.Duration{time.Minute},
		Pool: &driver.Pool{Workers: 2, Capacity: 8},
	})
	return store
}

func TestMetricsAndActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mixed()
		store.Set("mail-bulk", memory.State{Ready: 10, Pool: &driver.Pool{Workers: 1, Capacity: 2}})
		store.Set("busy", memory.State{Running: 1}) // case 30: a long job, and nothing else
		store.Set("paused", memory.State{Ready: 7, Paused: true})
		store.Set("idle", memory.State{Pool: &driver.Pool{Workers: 1, Capacity: 4}})
		store.Set("later", memory.State{Due: []time.Duration{30 * time.Second, time.Hour}})
		b := serve(t, nil, source(t, "jobs", store))
		for _, c := range []struct {
			metadata []string
			value    float64
			integer  int64
			active   bool
		}{
			// Each metric; case 26: always the raw total, whatever the target.
			{[]string{"queue", "mail"}, 5, 5, true},
			{[]string{"queue", "mail", "target", "2"}, 5, 5, true},
			{[]string{"queue", "mail", "metric", "outstanding"}, 5, 5, true},
			{[]string{"queue", "mail", "metric", "ready"}, 3, 3, true},
			{[]string{"queue", "mail", "metric", "running"}, 2, 2, true},
			{[]string{"queue", "mail", "metric", "scheduled"}, 1, 1, true},
			{[]string{"queue", "mail", "metric", "oldest"}, 90, 90, true},
			{[]string{"queue", "mail", "metric", "utilization"}, 0.25, 1, true}, // case 22: rounded up for KEDA up to 2.16
			{[]string{"queue", "idle", "metric", "utilization"}, 0, 0, false},
			// Several queues, globs, all.
			{[]string{"queue", "mail, mail-bulk"}, 15, 15, true},
			{[]string{"queue", "mail*"}, 15, 15, true},
			{[]string{"queue", "mail*", "metric", "utilization"}, 0.2, 1, true},
			{[]string{"queue", "mail*", "metric", "oldest"}, 90, 90, true},
			{[]string{"metric", "running"}, 3, 3, true},
			{[]string{"queue", "nobody-*"}, 0, 0, false},
			{[]string{"queue", "unheard-of"}, 0, 0, false},
			// The cap.
			{[]string{"queue", "mail", "max", "4"}, 4, 4, true},
			{[]string{"queue", "mail", "max", "0.5"}, 0.5, 1, true},
			// Activity: more than the threshold; running jobs protect themselves unless told otherwise.
			{[]string{"queue", "mail", "activation", "4"}, 5, 5, true},
			{[]string{"queue", "mail", "activation", "5"}, 5, 5, false},
			{[]string{"queue", "mail", "activation", "4", "activeWhileRunning", "false"}, 5, 5, false},
			{[]string{"queue", "busy", "metric", "ready"}, 0, 0, true}, // case 30
			{[]string{"queue", "busy", "activeWhileRunning", "false"}, 1, 1, false},
			{[]string{"queue", "paused"}, 0, 0, false},
			// Case 31: what cannot start now does not count; what starts soon counts if that is asked for.
			{[]string{"queue", "later"}, 0, 0, false},
			{[]string{"queue", "later", "lookahead", "1m"}, 1, 1, true},
			{[]string{"queue", "later", "lookahead", "2h"}, 2, 2, true},
		} {
			trigger := ref(c.metadata...)
			got, err := b.value(trigger)
			if err != nil || got.GetMetricValueFloat() != c.value || got.GetMetricValue() != c.integer {
				t.Errorf("GetMetrics(%q) = %v, %v, want %g and %d", c.metadata, got, err, c.value, c.integer)
			}
			b.wantActive(trigger, c.active)
		}
	})
}

// Case 20: KEDA ignores pushes for a ScaledJob, so polling has to be right alone: by KEDA's default strategy the
// value counts running jobs, which KEDA subtracts again.
func TestPollingAloneFollowsAJobFromEnqueueToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		outstanding, ready := ref("queue", "mail", "target", "1"), ref("queue", "mail", "target", "1", "metric", "ready")
		for _, step := range []struct {
			do                 func()
			outstanding, ready float64
		}{
			{func() {}, 0, 0},
			{func() { store.Enqueue("mail", 3) }, 3, 3},
			{func() { store.Claim("mail", 2) }, 3, 1},
			{func() { store.Finish("mail", 1) }, 2, 1},
			{func() { store.Claim("mail", 1) }, 2, 0},
			{func() { store.Finish("mail", 2) }, 0, 0},
		} {
			step.do()
			time.Sleep(30 * time.Second) // KEDA's pollingInterval
			b.wantValue(outstanding, step.outstanding)
			b.wantValue(ready, step.ready)
			b.wantActive(outstanding, step.outstanding > 0)
			b.wantActive(ready, step.outstanding > 0)
		}
	})
}

func TestUtilizationWithoutARegistryOfWorkersIsRefused(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail", 1)
	b := serve(t, nil, source(t, "jobs", store))
	trigger := ref("queue", "mail", "metric", "utilization")
	_, err := b.value(trigger)
	wantStatus(t, err, codes.FailedPrecondition, "utilization", "outstanding")
	b.wantActive(trigger, true) // activity needs no workers
}

// Case 23: KEDA keeps thousandths in an int64 and the HPA a ratio in an int32; both wrap in silence.
func TestHugeBacklogStaysWithinKEDAAndTheHPA(t *testing.T) {
	exact := int64(0)
	jobs := source(t, "jobs", table{
		"deep":      {Ready: 214_748_365},
		"abyss":     {Ready: math.MaxInt64},
		"old":       {Ready: 1, Oldest: math.MaxInt64},
		"reachable": {Ready: 214_748_364},
	})
	jobs.CountLimit = &exact
	b := serve(t, nil, jobs)
	for _, queue := range []string{"deep", "abyss", "old", "reachable"} {
		for _, target := range []string{"0.001", "0.1", "1", "9e15"} {
			for _, metric := range []string{"ready", "oldest"} {
				trigger := ref("queue", queue, "target", target, "metric", metric)
				got, err := b.value(trigger)
				if err != nil {
					t.Errorf("GetMetrics of %s: %v", queue, err)
					continue
				}
				value := got.GetMetricValueFloat()
				if ratio := value / b.spec(trigger).GetTargetSizeFloat(); value < 0 || value > 9e15 || ratio >= math.MaxInt32 {
					t.Errorf("%s of %s by target %s is %g, ratio %g", metric, queue, target, value, ratio)
				}
			}
		}
	}
	b.wantValue(ref("queue", "reachable", "target", "0.1", "metric", "ready"), 214_748_364)
}

// Cases 22 and 25: both fields say the same, and no target becomes 0 on its way.
func TestTargets(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	for _, c := range []struct {
		text    string
		float   float64
		integer int64
	}{
		{"5.0", 5, 5},
		{" 5 ", 5, 5},
		{"1e3", 1000, 1000},
		{"0.5", 0.5, 1},
		{"0.001", 0.001, 1},
		{"2.5", 2.5, 3},
	} {
		if got := b.spec(ref("target", c.text)); got.GetTargetSizeFloat() != c.float || got.GetTargetSize() != c.integer {
			t.Errorf("target %q becomes %v, want %g and %d", c.text, got, c.float, c.integer)
		}
	}
	if got := b.spec(ref()); got.GetTargetSizeFloat() != 10 {
		t.Errorf("no target becomes %v, want 10", got)
	}
	for _, text := range []string{"0", "-5", "", " ", "0.0004", "ten", "NaN", "Inf", "1e400"} {
		_, err := b.GetMetricSpec(t.Context(), ref("target", text))
		wantStatus(t, err, codes.InvalidArgument, `"target"`)
	}
}

// Rule 1: an engine that breaks its contract is an error; its queue is not taken for empty.
func TestFaultyReadingIsAnErrorAndNoZero(t *testing.T) {
	faulty := table{"negative": {Ready: -1}, "backwards": {Ready: 1, Oldest: -time.Second}}
	for queue, fault := range map[string]string{"missing": "not returned", "negative": "negative", "backwards": "negative"} {
		b := serve(t, nil, source(t, "jobs", faulty))
		_, err := b.value(ref("queue", queue))
		wantStatus(t, err, codes.Unavailable, `source "jobs"`, fault)
		_, err = b.IsActive(t.Context(), ref("queue", queue))
		wantStatus(t, err, codes.Unavailable, fault)
	}
}
