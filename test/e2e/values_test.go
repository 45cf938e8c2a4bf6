package e2e

import (
	"fmt"
	"strings"
	"testing"

	autoscaling "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestMetricIsTheNumberOfJobs(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	x := external(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	x.wants(0)
	for total := 1; total <= 1111; total = total*10 + 1 {
		a.enqueue("mail", total-total/10)
		x.becomes(float64(total))
	}
	a.enqueue("other", 5)
	x.becomes(1111)
	a.work("mail")
	x.becomes(0)
}

func TestMetricSpecHasTheTriggersTarget(t *testing.T) {
	t.Parallel()
	s := serve(t, newApp(t).source())
	for given, want := range map[string]string{"": "10", "7": "7", "0.5": "500m", "2.25": "2250m", "1e3": "1000"} {
		t.Run("target "+given, func(t *testing.T) {
			t.Parallel()
			m := metadata{"queue": "mail", "metric": "ready"}
			if given != "" {
				m["target"] = given
			}
			got := external(t, s, trigger{metadata: m}).spec()
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
	a := newApp(t)
	a.enqueue("few", 3)
	a.enqueue("many", 70)
	s := serve(t, a.source())
	few := externalPush(t, s, trigger{index: 0, metadata: metadata{"queue": "few"}})
	many := externalPush(t, s, trigger{index: 1, metadata: metadata{"queue": "many"}})
	both := externalPush(t, s, trigger{index: 2, metadata: metadata{"queue": "few, many"}})
	few.wants(3)
	many.wants(70)
	both.wants(73)
	names := map[string]bool{}
	for i, p := range []*pushScaler{few, many, both} {
		name := p.name()
		if !strings.HasPrefix(name, fmt.Sprintf("s%d-", i)) || names[name[3:]] {
			t.Errorf("trigger %d has the metric name %q", i, name)
		}
		names[name[3:]] = true
		p.woken(promptly)
	}
}

// KEDA puts s<index>- before a metric's name and the metrics API lower-cases it, so none of these may depend on case
// or on characters that an HPA refuses; and each of these is another queue than the others.
func TestQueueNamesOfAnyKindHaveTheirOwnMetrics(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	longest := strings.Repeat("long-", 12) + "name"
	queues := []string{"0", "mailout", "team-mail", "team_mail", "team|mail", longest, longest[:63]}
	for i, queue := range queues { // by River's Go client
		a.enqueue(queue, i+1)
	}
	elsewhere := []string{"MailOut", "MAILOUT", "team/mail", "team mail", "Team-Mail", "mäil", "50%", `o'brien "x"; --`, strings.Repeat("Ü", 64)}
	for i, queue := range elsewhere { // by its clients for other languages
		a.enqueueElsewhere(queue, 101+i)
	}
	s := serve(t, a.source())
	names := map[string]string{}
	check := func(queue string, jobs int) {
		t.Run(queue, func(t *testing.T) {
			x := external(t, s, trigger{metadata: metadata{"queue": queue}})
			x.wants(float64(jobs))
			name := x.name()
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
	a := newApp(t)
	s := serve(t, a.source())
	// Nobody notifies of a job that another language's client inserts: the resync finds it.
	p := externalPush(t, s, trigger{metadata: metadata{"queue": "MailOut"}})
	p.opens()
	for _, queue := range []string{"team|mail", "team_mail", "team-mail"} {
		p := externalPush(t, s, trigger{metadata: metadata{"queue": queue}})
		p.opens()
		p.wokenBy(func() { a.enqueue(queue, 1) }, promptly)
	}
	p.wokenBy(func() { a.enqueueElsewhere("MailOut", 1) }, resync)
}
