package e2e

import (
	"fmt"
	"strings"
	"testing"

	autoscaling "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestMetricIsTheNumberOfJobs(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	x := rig.External(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	x.Wants(0)
	for total := 1; total <= 1111; total = total*10 + 1 {
		a.Enqueue("mail", total-total/10)
		x.Becomes(float64(total))
	}
	a.Enqueue("other", 5)
	x.Becomes(1111)
	a.Work("mail")
	x.Becomes(0)
}

func TestMetricSpecHasTheTriggersTarget(t *testing.T) {
	t.Parallel()
	s := rig.Serve(t, rig.NewRiverApp(t).Source())
	for given, want := range map[string]string{"": "10", "7": "7", "0.5": "500m", "2.25": "2250m", "1e3": "1000"} {
		t.Run("target "+given, func(t *testing.T) {
			t.Parallel()
			m := rig.Metadata{"queue": "mail", "metric": "ready"}
			if given != "" {
				m["target"] = given
			}
			got := rig.External(t, s, rig.Trigger{Metadata: m}).Spec()
			if got.Type != autoscaling.ExternalMetricSourceType || got.External.Metric.Name != "s0-queue-mail--mail--ready" {
				t.Errorf("spec = %s %q", got.Type, got.External.Metric.Name)
			}
			target := got.External.Target
			if target.Type != autoscaling.AverageValueMetricType || target.Value != nil || target.AverageUtilization != nil {
				t.Errorf("target = %v, want an AverageValue alone", target)
			}
			if q := resource.MustParse(want); target.AverageValue == nil || target.AverageValue.Cmp(q) != 0 {
				t.Errorf("target = %v, want %v", target.AverageValue, want)
			}
		})
	}
}

func TestTwoTriggersOfOneObjectHaveTheirOwnValues(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("few", 3)
	a.Enqueue("many", 70)
	s := rig.Serve(t, a.Source())
	few := rig.ExternalPush(t, s, rig.Trigger{Index: 0, Metadata: rig.Metadata{"queue": "few"}})
	many := rig.ExternalPush(t, s, rig.Trigger{Index: 1, Metadata: rig.Metadata{"queue": "many"}})
	both := rig.ExternalPush(t, s, rig.Trigger{Index: 2, Metadata: rig.Metadata{"queue": "few, many"}})
	few.Wants(3)
	many.Wants(70)
	both.Wants(73)
	names := map[string]bool{}
	for i, p := range []*rig.PushScaler{few, many, both} {
		name := p.Name()
		if !strings.HasPrefix(name, fmt.Sprintf("s%d-", i)) || names[name[3:]] {
			t.Errorf("trigger %d has the metric name %q", i, name)
		}
		names[name[3:]] = true
		p.Woken(rig.Promptly)
	}
}

// KEDA puts s<index>- before a metric's name and the metrics API lower-cases it, so none of these may depend on case
// or on characters that an HPA refuses; and each of these is another queue than the others.
func TestQueueNamesOfAnyKindHaveTheirOwnMetrics(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	longest := strings.Repeat("long-", 12) + "name"
	queues := []string{"0", "mailout", "team-mail", "team_mail", "team|mail", longest, longest[:63]}
	for i, queue := range queues { // by River's Go client
		a.Enqueue(queue, i+1)
	}
	elsewhere := []string{"MailOut", "MAILOUT", "team/mail", "team mail", "Team-Mail", "mäil", "50%", `o'brien "x"; --`, strings.Repeat("Ü", 64)}
	for i, queue := range elsewhere { // by its clients for other languages
		a.EnqueueElsewhere(queue, 101+i)
	}
	s := rig.Serve(t, a.Source())
	names := map[string]string{}
	check := func(queue string, jobs int) {
		t.Run(queue, func(t *testing.T) {
			x := rig.External(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": queue}})
			x.Wants(float64(jobs))
			name := x.Name()
			if other, taken := names[name]; taken {
				t.Errorf("%q has the metric name of %q: %s", queue, other, name)
			}
			names[name] = queue
		})
	}
	for i, queue := range queues {
		check(queue, i+1)
	}
	for i, queue := range elsewhere {
		check(queue, 101+i)
	}
}

func TestJobsInQueuesWithOddNamesArePushed(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	s := rig.Serve(t, a.Source())
	// Nobody notifies of a job that another language's client inserts: the rig.Resync finds it.
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "MailOut"}})
	p.Opens()
	for _, queue := range []string{"team|mail", "team_mail", "team-mail"} {
		p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": queue}})
		p.Opens()
		p.WokenBy(func() { a.Enqueue(queue, 1) }, rig.Promptly)
	}
	p.WokenBy(func() { a.EnqueueElsewhere("MailOut", 1) }, rig.Resync)
}
