package faults

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// By a clock that is ten years ahead, a credential has expired: that is an error, and no empty queue, for polls and for
// streams that are open.
func TestCredentialExpiresByLeadsmansClock(t *testing.T) {
	t.Parallel()
	app, server := rig.NewRiverApp(t), rig.NewServer(t)
	app.Enqueue("mail", 3)
	token := rig.NewToken(t, "keda", "--expires", time.Now().AddDate(0, 0, 3).Format(time.DateOnly))
	server.OwnClock()
	server.Configure(app.Source() + rig.TokensConfig(token))
	server.Start()
	p := rig.ExternalPush(t, server, rig.Trigger{Object: "mail", Metadata: rig.Metadata{"queue": "mail", "token": token.Token}})
	p.Becomes(3)
	p.Woken(*within)
	name := p.Name()

	server.SetClock(10 * 365 * 24 * time.Hour)
	if value, active, err := p.Poll(name); status.Code(err) != codes.Unauthenticated {
		t.Errorf("value %v, active %v, error %v, want one that says %s", value, active, err, codes.Unauthenticated)
	}
	const recheck = 30 * time.Second // of streams
	rig.Eventually(t, recheck+grace, "the open streams end", func() bool { return len(rig.StreamErrors(p.Object)) >= 2 })

	server.SetClock(0)
	p.Forget()
	p.Becomes(3)
	p.Woken(2 * time.Minute) // KEDA waits for up to a minute after an error
}
