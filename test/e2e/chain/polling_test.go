package chain

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// Without a push a worker follows its queue, too, as soon as KEDA polls.
func TestWorkersFollowTheBacklogWhenKEDAPolls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode      string
		tokenFrom spec
		url       func(manifests string) string // changes what leadsman manifest makes; nil for nothing
	}{
		"over gRPC":               {"external", spec{"env": "LEADSMAN_TOKEN"}, nil},
		"over HTTP, in the query": {"metrics-api", spec{"secret": "leadsman-token", "key": "token"}, nil},
		"over HTTP, in the path":  {"metrics-api", spec{"secret": "leadsman-token", "key": "token"}, inPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := riverInPostgres(rig.NewRiverApp(t))
			token := rig.NewToken(t, "keda", "--queue", "mail")
			w := newWorker(t, corev1.EnvVar{Name: "LEADSMAN_TOKEN", Value: token.Token})
			w.secret("leadsman-token", map[string]string{"token": token.Token})
			manifests := w.manifests(install(t, p.source+"http: {auth: token}\n"+rig.TokensConfig(token)), spec{
				"mode": tc.mode, "target": 10, "tokenFrom": tc.tokenFrom,
			})
			if tc.url != nil {
				manifests = tc.url(manifests)
			}
			w.apply(manifests)
			w.ready()
			w.follows(p)
		})
	}
}

// inPath names source and queue in the path of the URL, as one has to where KEDA drops the query of it.
func inPath(manifests string) string {
	return urlOf.ReplaceAllString(manifests, "/api/scaler/mail/mail")
}

var urlOf = regexp.MustCompile(`/api/scaler\?\S*`)

// secret makes a Secret beside the worker.
func (w *worker) secret(name string, data map[string]string) {
	w.t.Helper()
	create(w.t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.name.Namespace, Name: name}, StringData: data})
}
