package peers

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/peers/report"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

const (
	often    = time.Second            // the shortest pollingInterval there is
	anyPhase = 100 * time.Millisecond // for who does not wait for a poll
)

// seldom is the default pollingInterval.
func seldom() time.Duration { return pick(30*time.Second, 3*time.Second) }

// A field is all that the contenders run in.
type field struct {
	t         *testing.T
	namespace string
	watch     *watcher
	leadsman  *installation
	bare      *bareScaler
	river     *rig.RiverApp
	asynq     *rig.AsynqApp
	all       []*contender
}

// newField starts what the contenders share: the queues, leadsman over both, and the floor.
func newField(t *testing.T, postgres *storagetest.Cluster) *field {
	t.Helper()
	f := &field{t: t, namespace: "race"}
	f.river = rig.NewRiverAppOn(t, postgres.Database(t))
	f.asynq = rig.NewAsynqApp(t)
	f.leadsman = install(t, 0, fmt.Sprintf("sources: {mail: {url: %q, preset: river}, cache: {url: %q, preset: asynq}}\n",
		f.river.URL, f.asynq.Server.URL()))
	f.bare = startBare(t)
	f.bare.listen(t, f.river.URL)
	newNamespace(t, f.namespace)
	f.watch = follow(t, f.namespace)
	return f
}

// add has a contender run that ends at a Deployment's replicas.
func (f *field) add(c *contender, polling time.Duration, trigger kedav1alpha1.ScaleTriggers) *contender {
	f.t.Helper()
	if err := newWorker(f.t.Context(), f.namespace, c.queue, f.river.URL, polling, trigger); err != nil {
		f.t.Fatal(err)
	}
	c.clock = &worker{watch: f.watch, name: c.queue, polled: c.every == polling}
	f.all = append(f.all, c)
	return c
}

// addPush has a contender run that is pushed, and beside it one that ends at the true that is a part of it.
func (f *field) addPush(c contender, server *rig.Server, metadata rig.Metadata) (whole, part *contender) {
	f.t.Helper()
	c.every = anyPhase
	half := c // has another queue
	c.queue += "-push"
	of := rig.Metadata{"queue": c.queue, "scalerAddress": server.GRPC}
	maps.Copy(of, metadata)
	if metadata["source"] != "" {
		c.forgets = func(ctx context.Context) error { return f.leadsman.denies(ctx, f.namespace, c.queue, of) }
	}
	whole = f.add(&c, seldom(), kedav1alpha1.ScaleTriggers{Type: "external-push", Metadata: of})

	half.queue += "-true"
	its := rig.Metadata{"queue": half.queue}
	maps.Copy(its, metadata)
	client := rig.ExternalPush(f.t, server, rig.Trigger{Object: half.queue, Metadata: its})
	client.Opens()
	half.clock = &truth{client}
	if metadata["source"] != "" {
		half.forgets = func(ctx context.Context) error { return f.leadsman.denies(ctx, "team-mail", client.Object, its) }
	}
	f.all = append(f.all, &half)
	return whole, &half
}

// A truth is where the clock of a part stops: at the true that KEDA's client has got.
type truth struct{ client *rig.PushScaler }

func (c *truth) reset(context.Context) error {
	c.client.Forget()
	return nil
}

func (c *truth) woken(ctx context.Context) (time.Time, error) {
	select {
	case at := <-c.client.Wakes:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// builtinPostgres is KEDA's own trigger of a queue of River's: the jobs that wait or run.
func builtinPostgres(queue string) kedav1alpha1.ScaleTriggers {
	return kedav1alpha1.ScaleTriggers{Type: "postgresql", Metadata: map[string]string{
		"connectionFromEnv": databaseVariable,
		"query":             "SELECT count(*) FROM river_job WHERE queue = '" + queue + "' AND state IN ('available', 'running')",
		"targetQueryValue":  "10",
	}}
}

// builtinRedis is KEDA's own trigger of a queue of Asynq's: the list of tasks that wait.
func (f *field) builtinRedis(queue string) kedav1alpha1.ScaleTriggers {
	return kedav1alpha1.ScaleTriggers{Type: "redis", Metadata: map[string]string{
		"address": f.asynq.Server.Addr(), "listName": "asynq:{" + queue + "}:pending", "listLength": "10",
	}}
}

// overHTTP is KEDA's own trigger that asks leadsman.
func (f *field) overHTTP(queue string) kedav1alpha1.ScaleTriggers {
	return kedav1alpha1.ScaleTriggers{Type: "metrics-api", Metadata: map[string]string{
		"url":           "http://" + f.leadsman.HTTP() + "/api/scaler?source=mail&queue=" + queue,
		"valueLocation": "metricValue", "targetValue": "10",
	}}
}

// pushed are jobs of the floor, which is told of each by a call.
type pushed struct{ bare *bareScaler }

// EnqueueOnce implements jobs.
func (p pushed) EnqueueOnce(_ context.Context, queue, _ string) error {
	p.bare.wake(queue)
	return nil
}

// Discard implements jobs.
func (pushed) Discard(string) {}

func way(kind report.Kind, name string) report.Way { return report.Way{Kind: kind, Name: name} }

// each names who polls.
func each(name string, polling time.Duration) string {
	return fmt.Sprintf("%s, each %.0f s", name, polling.Seconds())
}
