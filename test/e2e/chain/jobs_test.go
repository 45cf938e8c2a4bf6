package chain

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// An encoding is a ScaledJob whose Jobs work off one job of BullMQ's each.
type encoding struct {
	t       *testing.T
	release *release
	kubelet *kubelet
	open    func() *storagetest.Library // another process that uses the queue
	queue   *storagetest.Library
	running []*encoder

	ready int // jobs that wait
	jobs  int // that there were
}

// An encoder is the process in a Job's Pod.
type encoder struct {
	pod     *corev1.Pod
	library *storagetest.Library
}

// Case 29. KEDA makes as many Jobs as there were jobs, at whatever point it polls: those that wait for their Pods, run or are
// done are known to it by the strategy, and to leadsman by the metric that goes with it.
func TestScaledJobMakesOneJobForEach(t *testing.T) {
	t.Parallel()
	for strategy, metric := range map[string]string{"default": "outstanding", "accurate": "ready"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			e := newEncoding(t, strategy, metric)
			e.enqueue(3)
			e.exact()
			e.start(1)
			e.exact()
			e.enqueue(2) // while one runs and two Pods wait
			e.exact()
			e.start(4)
			e.exact()
			e.finish(2)
			e.exact()
			e.enqueue(1) // while three run
			e.exact()
			e.start(1)
			e.finish(4)
			e.exact()
			// Of six, the manifest lets five stay to be looked at.
			rig.Eventually(t, settled, "the Jobs are complete", func() bool { return e.kubelet.completed() == 5 })
		})
	}
}

func newEncoding(t *testing.T, strategy, metric string) *encoding {
	t.Helper()
	server := storagetest.StartRedis(t)
	e := &encoding{t: t, open: func() *storagetest.Library {
		return storagetest.OpenLibrary(t, storagetest.Node(t, "bullmq"), map[string]any{"release": "bullmq6", "url": server.URL()})
	}}
	e.queue = e.open()
	e.release = install(t, fmt.Sprintf("sources: {video: {url: %q, preset: bullmq}}\n", server.URL()))
	namespace := newNamespace(t)
	e.kubelet = newKubelet(t, namespace)
	pod := map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "encoder", "image": "example.com/encoder:1"}},
	}
	apply(t, manifestsOf(t, spec{
		"mode": "scaled-job", "strategy": strategy, "metric": metric, "namespace": namespace,
		"worker": spec{"name": "encoder", "job": spec{"backoffLimit": 0, "template": spec{"spec": pod}}},
		"source": "video", "queue": "encode", "max": 30, "poll": "2s", "server": spec{"address": e.release.GRPC()},
	}))
	// KEDA takes up a new ScaledJob twice, the second time for its own finalizer, and polls at once for each. Of two polls in
	// one moment neither sees the Jobs that the other makes.
	rig.Eventually(t, settled, "KEDA polls in turn", func() bool { return e.polls() >= 3 })
	return e
}

func (e *encoding) enqueue(n int) {
	e.t.Helper()
	e.queue.Enqueue("encode", n, nil)
	e.ready += n
	e.jobs += n
}

// start lets the processes of n Pods start, each of which takes a job.
func (e *encoding) start(n int) {
	e.t.Helper()
	for range n {
		started := &encoder{pod: e.kubelet.pending(), library: e.open()}
		started.library.Start("encode", 1)
		e.ready--
		e.running = append(e.running, started)
		// A kubelet is behind its containers by a second, and leadsman behind a queue by no more than that.
		e.known()
		e.kubelet.tells(started.pod, corev1.PodRunning)
	}
}

// finish lets the jobs of n Pods end, and their processes.
func (e *encoding) finish(n int) {
	e.t.Helper()
	for range n {
		ended := e.running[0]
		e.running = e.running[1:]
		ended.library.Finish("encode")
		e.known()
		e.kubelet.tells(ended.pod, corev1.PodSucceeded)
	}
}

// exact waits until there was a Job for each job, and fails if KEDA makes more of them.
func (e *encoding) exact() {
	e.t.Helper()
	rig.Eventually(e.t, settled, fmt.Sprintf("there are %d Jobs", e.jobs), func() bool { return e.kubelet.created() >= e.jobs })
	// Whatever KEDA makes of an answer it has made before it asks again.
	before := e.polls()
	rig.Eventually(e.t, settled, "KEDA has polled", func() bool { return e.polls() >= before+3 })
	if n := e.kubelet.created(); n != e.jobs {
		e.t.Fatalf("KEDA made %d Jobs for %d jobs", n, e.jobs)
	}
	e.t.Logf("%d Jobs for %d jobs, of which %d wait and %d run", e.kubelet.created(), e.jobs, e.ready, len(e.running))
}

// known waits until both replicas of leadsman know how many jobs wait and run.
func (e *encoding) known() {
	e.t.Helper()
	type state struct{ Ready, Running int }
	want := state{e.ready, len(e.running)}
	for _, replica := range e.release.replicas {
		rig.Eventually(e.t, settled, fmt.Sprintf("leadsman knows of %+v", want), func() bool {
			var answer struct{ PerQueue map[string]state }
			if err := json.Unmarshal(e.get(replica, "/api/scaler/video/encode"), &answer); err != nil {
				e.t.Fatal(err)
			}
			return answer.PerQueue["encode"] == want
		})
	}
}

// polls is how often KEDA has asked for the value.
func (e *encoding) polls() int {
	e.t.Helper()
	sum := 0.0
	for _, replica := range e.release.replicas {
		for line := range strings.Lines(string(e.get(replica, "/metrics"))) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), "} "); strings.Contains(name, `_handled_total{`) &&
				strings.Contains(name, `"GetMetrics"`) {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					e.t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return int(sum)
}

func (e *encoding) get(replica *rig.Server, path string) []byte {
	e.t.Helper()
	resp, err := http.Get("http://" + replica.HTTP + path)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		e.t.Fatalf("GET %s: %s, %v\n%s", path, resp.Status, err, body)
	}
	return body
}
