package chain

import (
	"fmt"
	"testing"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// Office hours have their replicas, more come when there is work for more, and beyond the hours the queue alone decides.
func TestQueueAndHoursTogether(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	r := install(t, app.Source())
	w := newWorker(t)
	w.scaled(r, spec{"target": 10, "cron": []spec{hours(-time.Hour, 12*time.Hour)}})
	w.ready()
	w.becomes(2)
	app.Enqueue("mail", 35)
	w.becomes(4)
	app.Work("mail")
	w.becomes(2)

	w.scaled(r, spec{"target": 10, "cron": []spec{hours(6*time.Hour, 12*time.Hour)}})
	w.becomes(0)
	app.Enqueue("mail", 1)
	w.becomes(1)
}

// hours begin and end each day at times from now, and have 2 replicas.
func hours(begin, end time.Duration) spec {
	at := func(in time.Duration) string {
		t := time.Now().UTC().Add(in)
		return fmt.Sprintf("%d %d * * *", t.Minute(), t.Hour())
	}
	return spec{"timezone": "Etc/UTC", "start": at(begin), "end": at(end), "replicas": 2}
}

// Either queue wakes the worker, and the one that wants more has its replicas.
func TestWorkerOfTwoQueuesFollowsTheOneThatWantsMore(t *testing.T) {
	t.Parallel()
	mail, bulk := rig.NewRiverApp(t), rig.NewAsynqApp(t)
	r := install(t, fmt.Sprintf("sources: {mail: {url: %q, preset: river}, bulk: {url: %q, preset: asynq}}\n", mail.URL, bulk.Server.URL()))
	w := newWorker(t)
	w.apply(withTriggersOf(t, w.manifests(r, spec{"target": 10}), w.manifests(r, spec{"source": "bulk", "target": 2})))
	w.ready()
	w.becomes(0)

	enqueueBulk := func(n int) {
		for range n {
			bulk.Enqueue()
		}
	}
	enqueueBulk(1)
	w.becomes(1)
	mail.Enqueue("mail", 25)
	w.becomes(3)
	enqueueBulk(8)
	w.becomes(5)
	bulk.Work(9)
	w.becomes(3)
	mail.Work("mail")
	w.becomes(0)
	mail.Enqueue("mail", 1)
	w.becomes(1)
}

// withTriggersOf is a ScaledObject with another one's triggers beside its own.
func withTriggersOf(t *testing.T, manifests ...string) string {
	t.Helper()
	var all kedav1alpha1.ScaledObject
	for i, text := range manifests {
		var object kedav1alpha1.ScaledObject
		if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			all = object
		} else {
			all.Spec.Triggers = append(all.Spec.Triggers, object.Spec.Triggers...)
		}
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The autoscaler takes no replica away while it cannot have all its metrics; nobody has any of CPUs here. Neither the backlog
// nor the end of it waits for them.
func TestQueueDecidesWhereNoCPUIsMeasured(t *testing.T) {
	t.Parallel()
	p := riverInPostgres(rig.NewRiverApp(t))
	w := newWorker(t)
	w.scaled(install(t, p.source), spec{"target": 10, "cpu": 70})
	w.ready()
	w.follows(p)
}
