package chain

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// byCertificate is a spec with a TriggerAuthentication that holds KEDA's certificate; all that wakes is the push.
func byCertificate(queue string) spec {
	const secret = "leadsman-client"
	return spec{"queue": queue, "poll": never, "tls": map[string]any{"caSecret": secret, "clientSecret": secret}}
}

// clientSecret is what the Secret holds: whom KEDA trusts, and as whom it comes.
func clientSecret(trusted string, own rig.Pair) map[string]string {
	return map[string]string{"ca.crt": trusted, "tls.crt": own.Cert, "tls.key": own.Key}
}

// One authority takes the place of another: both sides trust both for some time.
func TestRotationOfCertificatesLosesNoWake(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	old, next := rig.NewAuthority(t, "old"), rig.NewAuthority(t, "next")
	r := prepare(t, cluster.NewRelease(int(installed.Add(1))), app.Source()+tlsConfig)
	r.certify(old)
	for _, replica := range r.replicas {
		replica.Start()
	}
	first := newWorker(t)
	first.secret("leadsman-client", clientSecret(old.PEM, old.Client(operator)))
	var workers []*worker
	for _, queue := range []string{"before", "beside", "after"} {
		w := newWorkerIn(t, first.name.Namespace, queue)
		w.scaled(r, byCertificate(queue))
		w.ready()
		workers = append(workers, w)
	}
	workers[0].wakes(app)

	r.shows(t, next, old.PEM+next.PEM)
	workers[1].wakes(app) // over a connection from before
	first.setSecret("leadsman-client", clientSecret(next.PEM, next.Client(operator)))
	workers[2].touch()
	workers[2].ready()
	r.shows(t, next, next.PEM)
	workers[2].wakes(app)
	workers[2].shows("READY", "True")
}

// shows gives the replicas certificates of an authority, whom they trust, and waits until all have them in force.
func (r *release) shows(t *testing.T, ca *rig.Authority, trusted string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca.PEM))
	for _, replica := range r.replicas {
		replica.Certify(ca.Server(r.Service()), trusted)
		rig.Eventually(t, settled, "the new certificate is in force", func() bool {
			conn, err := tls.Dial("tcp", replica.GRPC, &tls.Config{RootCAs: roots, ServerName: r.Service(), NextProtos: []string{"h2"}})
			if err != nil {
				return false
			}
			return conn.Close() == nil
		})
	}
}
