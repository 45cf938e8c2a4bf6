package chain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// secretName is the Secret with the token, and tokenEnv the variable of a worker that is its value.
const secretName = "leadsman-token"

func tokenEnv() corev1.EnvVar {
	from := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secretName}, Key: "token"}
	return corev1.EnvVar{Name: "LEADSMAN_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: from}}
}

// byToken is a spec whose token is in the worker's environment; all that wakes is the push.
func byToken(queue string) spec {
	return spec{"queue": queue, "poll": never, "tokenFrom": map[string]any{"env": "LEADSMAN_TOKEN"}}
}

// KEDA's streams keep the token that they began with. So the old one is taken away after the ScaledObjects have begun anew with
// the new one, which any change of theirs leads to.
func TestRotationOfTokensLosesNoWake(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	old, next := rig.NewToken(t, "keda-1"), rig.NewToken(t, "keda-2")
	r := install(t, app.Source()+rig.TokensConfig(old))
	first := newWorker(t, tokenEnv())
	first.secret(secretName, map[string]string{"token": old.Token})
	var workers []*worker
	for _, queue := range []string{"before", "beside", "changed", "after"} {
		w := newWorkerIn(t, first.name.Namespace, queue, tokenEnv())
		w.scaled(r, byToken(queue))
		w.ready()
		workers = append(workers, w)
	}
	workers[0].wakes(app)

	r.admits(t, app.Source()+rig.TokensConfig(old, next))
	workers[1].wakes(app) // over a stream that has the old one
	first.setSecret(secretName, map[string]string{"token": next.Token})
	workers[2].wakes(app)
	workers[3].touch()
	r.admits(t, app.Source()+rig.TokensConfig(next))
	workers[3].wakes(app)
	workers[3].shows("READY", "True")
}

// admits puts other access rules in force and waits until all replicas have them.
func (r *release) admits(t *testing.T, config string) {
	t.Helper()
	const done = "access rules are reloaded"
	for _, replica := range r.replicas {
		before := len(replica.Log.Find(done))
		replica.Configure(config)
		rig.Eventually(t, settled, "the new access rules are in force", func() bool {
			return len(replica.Log.Find(done)) > before
		})
	}
}

// setSecret changes a Secret.
func (w *worker) setSecret(name string, data map[string]string) {
	w.t.Helper()
	to := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.name.Namespace, Name: name}, StringData: data}
	if err := kube.Client.Update(w.t.Context(), to); err != nil {
		w.t.Fatal(err)
	}
}

// touch changes the ScaledObject's spec in what makes no difference, which has KEDA make its scalers and streams anew.
func (w *worker) touch() {
	w.t.Helper()
	o := w.object()
	from := client.MergeFrom(o.DeepCopy())
	o.Spec.CooldownPeriod = new(*o.Spec.CooldownPeriod + 1)
	if err := kube.Client.Patch(w.t.Context(), o, from); err != nil {
		w.t.Fatal(err)
	}
}

// KEDA shows at once that a trigger got no answer. Why it got none stands in leadsman's log and in the operator's: KEDA keeps to
// itself what a refused call for the metric's name said. The token stands nowhere.
func TestWrongTokenShowsInTheScaledObject(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	app.Enqueue("mail", 1)
	good, wrong := rig.NewToken(t, "keda"), rig.NewToken(t, "keda")
	r := install(t, app.Source()+rig.TokensConfig(good))
	w := newWorker(t, tokenEnv())
	w.secret(secretName, map[string]string{"token": wrong.Token})
	w.scaled(r, byToken("mail"))
	w.shows("READY", "False")
	w.tells("Message:", "no metric specs returned from scalers")
	rig.Eventually(t, settled, "leadsman says why", func() bool {
		return len(r.replicas[0].Log.Find("request refused"))+len(r.replicas[1].Log.Find("request refused")) > 0
	})
	w.keeps(wrong)
	w.is(0)

	w.setSecret(secretName, map[string]string{"token": good.Token})
	w.touch()
	w.ready()
	w.becomes(1)
}

// When a token that was good is not good any more, the ScaledObject's events tell of it, and the worker keeps what it has. What
// leadsman says is among them if KEDA's first call that fails is one for the metric's value and none for its name.
func TestRevokedTokenShowsInTheScaledObject(t *testing.T) {
	t.Parallel()
	for name, revoke := range map[string]func(rig.Token) rig.Token{
		"altogether":       func(rig.Token) rig.Token { return rig.NewToken(t, "other") },
		"for other queues": narrowed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := rig.NewRiverApp(t)
			app.Enqueue("mail", 1)
			token := rig.NewToken(t, "keda")
			r := install(t, app.Source()+rig.TokensConfig(token))
			w := newWorker(t, tokenEnv())
			w.secret(secretName, map[string]string{"token": token.Token})
			s := byToken("mail")
			s["poll"] = "1s"
			w.scaled(r, s)
			w.becomes(1)
			seen := w.record()
			r.admits(t, app.Source()+rig.TokensConfig(revoke(token)))
			_, events, _ := strings.Cut(w.tells("Warning", "KEDAScalerFailed"), "\nEvents:")
			t.Log(events)
			w.keeps(token)
			seen.neverBelow(t, 1)
		})
	}
}

// narrowed is a token of which the configuration says that it is for other queues.
func narrowed(token rig.Token) rig.Token {
	token.Config = []byte(strings.TrimSuffix(string(token.Config), "}") + `, "queues": ["bill"]}`)
	return token
}

// keeps fails if the token is to be seen in the ScaledObject or in what is told of it.
func (w *worker) keeps(secret rig.Token) {
	w.t.Helper()
	for _, command := range [][]string{{"describe", "scaledobject"}, {"get", "events", "--output", "yaml"}, {"get", "hpa", "--output", "yaml"}} {
		if text := kube.Kubectl(w.t, nil, append(command, "--namespace", w.name.Namespace)...); strings.Contains(text, secret.Token) {
			w.t.Errorf("kubectl %v shows the token", command)
		}
	}
}

// is fails if the worker is to have another number of replicas.
func (w *worker) is(n int32) {
	w.t.Helper()
	if got := w.replicas(); got != n {
		w.t.Errorf("replicas = %d, want %d", got, n)
	}
}
