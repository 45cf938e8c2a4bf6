package chain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A shop has all that the manifests of deploy/keda take for granted: leadsman under its usual name, with the sources that they
// name, and namespaces with Secrets and workers.
type shop struct {
	t           *testing.T
	mail, video *rig.RiverApp
	token       rig.Token // KEDA's
	scraper     rig.Token // Prometheus'
	release     *release
}

// What we ship works as it is, in the cluster that it is for. The objects have one name between them, so they come and go in turn.
func TestShippedManifestsWorkUnchanged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, tc := range []struct {
		file           string
		first, backlog int32 // replicas for 1 job, and for 17; 0 for any
	}{
		{"external-push.yaml", 1, 4},
		{"external-push-idle.yaml", 3, 4},
		{"combined.yaml", 0, 4}, // in office hours there are 2 before
		{"oldest.yaml", 1, 0},   // more come after a minute
		{"external.yaml", 1, 4},
		{"metrics-api.yaml", 1, 4},
	} {
		t.Run(tc.file, func(t *testing.T) { s.scales(t, tc.file, tc.first, tc.backlog) })
	}
	t.Run("prometheus.yaml", func(t *testing.T) {
		scrape(t, s.release, cluster.PrometheusAddress, s.scraper.Token)
		s.scales(t, "prometheus.yaml", 1, 4)
	})
	for _, file := range []string{"scaled-job-default.yaml", "scaled-job-accurate.yaml"} {
		t.Run(file, func(t *testing.T) { s.makesJobs(t, file) })
	}
	s.secureRelease()
	t.Run("external-push-mtls.yaml", func(t *testing.T) { s.scales(t, "external-push-mtls.yaml", 1, 4) })
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{
		t: t, mail: rig.NewRiverApp(t), video: rig.NewRiverApp(t),
		token: rig.NewToken(t, "keda"), scraper: rig.NewToken(t, "prometheus", "--scope", "inspect"),
	}
	s.release = prepare(t, cluster.NewRelease(0), s.sources()+"http: {auth: token}\n"+rig.TokensConfig(s.token, s.scraper))
	for _, replica := range s.release.replicas {
		replica.Start()
	}
	for _, namespace := range []string{"team-mail", "team-video"} {
		create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		create(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "leadsman-token"},
			StringData: map[string]string{"token": s.token.Token},
		})
	}
	return s
}

func (s *shop) sources() string {
	return fmt.Sprintf("sources: {mail: {url: %q, preset: river}, video: {url: %q, preset: river}}\n", s.mail.URL, s.video.URL)
}

// scales applies a file with a ScaledObject for the worker mailer, which then gets the replicas that jobs are for.
func (s *shop) scales(t *testing.T, file string, first, backlog int32) {
	w := newWorkerIn(t, "team-mail", "mailer", corev1.EnvVar{Name: "LEADSMAN_TOKEN", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "leadsman-token"}, Key: "token"},
	}})
	defer s.applied(t, file, w.name)()
	w.ready()
	defer s.mail.Work("mail-welcome")
	s.mail.Enqueue("mail-welcome", 1)
	if first > 0 {
		w.becomes(first)
	}
	if backlog > 0 {
		s.mail.Enqueue("mail-welcome", 16)
		w.becomes(backlog)
	}
}

// makesJobs applies a file with a ScaledJob encoder, which then makes a Job for each job.
func (s *shop) makesJobs(t *testing.T, file string) {
	k := newKubelet(t, "team-video")
	defer s.applied(t, file, types.NamespacedName{Namespace: "team-video", Name: "encoder"})()
	defer s.video.Work("encode")
	s.video.Enqueue("encode", 3)
	rig.Eventually(t, settled, "there are 3 Jobs", func() bool { return k.created() >= 3 })
	if n := k.created(); n != 3 {
		t.Errorf("KEDA made %d Jobs for 3 jobs", n)
	}
}

// applied applies a file of deploy/keda and returns what deletes its objects, and waits until KEDA is done with them.
func (s *shop) applied(t *testing.T, file string, name types.NamespacedName) (remove func()) {
	t.Helper()
	path := filepath.Join(rig.Root(t), "deploy", "keda", file)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	kube.Kubectl(t, nil, "apply", "-f", path)
	return func() {
		kube.Kubectl(t, nil, "delete", "--ignore-not-found", "--timeout="+settled.String(), "-f", path)
		name.Name = "keda-hpa-" + name.Name
		rig.Eventually(t, settled, "the autoscaler is gone", func() bool {
			err := kube.Client.Get(context.Background(), name, &autoscalingv2.HorizontalPodAutoscaler{})
			return apierrors.IsNotFound(err)
		})
	}
}

// secureRelease has leadsman want TLS and client certificates, and gives KEDA one.
func (s *shop) secureRelease() {
	s.t.Helper()
	ca := rig.NewAuthority(s.t, "leadsman")
	client := ca.Client(operator)
	create(s.t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-mail", Name: "leadsman-client"},
		StringData: map[string]string{"ca.crt": ca.PEM, "tls.crt": client.Cert, "tls.key": client.Key},
	})
	s.release.certify(ca)
	for _, replica := range s.release.replicas {
		replica.Stop()
		replica.Configure(s.sources() + tlsConfig)
		replica.Start()
	}
}
