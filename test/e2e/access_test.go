package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestTokenTravelsInTriggerMetadata(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	good, narrow := rig.NewToken(t, "keda"), rig.NewToken(t, "narrow", "--queue", "bill-*")
	s := rig.Serve(t, a.Source()+rig.TokensConfig(good, narrow))
	env := map[string]string{"LEADSMAN_TOKEN": good.Token, "OTHER": narrow.Token, "EMPTY": ""}

	for name, tr := range map[string]rig.Trigger{
		"token":                              {Metadata: rig.Metadata{"token": good.Token}},
		"tokenFromEnv":                       {Metadata: rig.Metadata{"tokenFromEnv": "LEADSMAN_TOKEN"}, Env: env},
		"token before tokenFromEnv":          {Metadata: rig.Metadata{"token": good.Token, "tokenFromEnv": "OTHER"}, Env: env},
		"token beside an empty tokenFromEnv": {Metadata: rig.Metadata{"token": good.Token, "tokenFromEnv": "EMPTY"}, Env: env},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr.Metadata["queue"] = "mail"
			p := rig.ExternalPush(t, s, tr)
			p.Woken(rig.Promptly)
			p.Wants(3)
		})
	}

	forged := good.Token[:len(good.Token)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(good.Token, "A")]
	t.Cleanup(func() { // after all of them
		for _, secret := range []string{good.Token, narrow.Token, forged} {
			if lines := s.Log.Find(secret); len(lines) > 0 {
				t.Errorf("the log shows a token: %q", lines)
			}
		}
	})
	for name, tr := range map[string]rig.Trigger{
		"no token":            {Metadata: rig.Metadata{}},
		"wrong":               {Metadata: rig.Metadata{"token": rig.NewToken(t, "keda").Token}},
		"forged":              {Metadata: rig.Metadata{"token": forged}},
		"its hash":            {Metadata: rig.Metadata{"token": sum(t, good)}},
		"not in the target":   {Metadata: rig.Metadata{"tokenFromEnv": "MISSING"}, Env: env},
		"empty in the target": {Metadata: rig.Metadata{"tokenFromEnv": "EMPTY"}, Env: env},
		"wrong before good":   {Metadata: rig.Metadata{"token": forged, "tokenFromEnv": "LEADSMAN_TOKEN"}, Env: env},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr.Metadata["queue"] = "mail"
			p := rig.ExternalPush(t, s, tr)
			if !p.Refused() {
				t.Error("the call was not refused as Unauthenticated")
			}
			if specs := p.GetMetricSpecForScaling(p.Context()); len(specs) != 0 {
				t.Errorf("the metric spec was given away: %v", specs)
			}
			p.Ends(codes.Unauthenticated)
		})
	}

	t.Run("for other queues", func(t *testing.T) {
		t.Parallel()
		p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail", "token": narrow.Token}})
		if _, _, err := p.GetMetricsAndActivity(p.Context(), "s0-"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("got %v, want PermissionDenied", err)
		}
		p.Ends(codes.PermissionDenied)
	})
}

// sum is the token's hash in the configuration file: who reads it there cannot use it.
func sum(t *testing.T, of rig.Token) string {
	t.Helper()
	var entry struct {
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(of.Config, &entry); err != nil || entry.SHA256 == "" {
		t.Fatalf("no hash in %s: %v", of.Config, err)
	}
	return entry.SHA256
}

// A token is rotated while streams are open: KEDA keeps the metadata that a stream was opened with, so for some time
// both tokens have to work.
func TestTokenRotationKeepsStreamsUntilTheOldTokenIsRemoved(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	old, next := rig.NewToken(t, "keda-1"), rig.NewToken(t, "keda-2")
	s := rig.Serve(t, a.Source()+rig.TokensConfig(old))
	before := rig.ExternalPush(t, s, rig.Trigger{Object: "before", Metadata: rig.Metadata{"queue": "mail", "token": old.Token}})
	before.Opens()
	after := rig.External(t, s, rig.Trigger{Object: "after", Metadata: rig.Metadata{"queue": "mail", "token": next.Token}})
	if !after.Refused() {
		t.Fatal("a token works that is not configured yet")
	}

	s.Configure(a.Source() + rig.TokensConfig(old, next))
	rig.Eventually(t, rig.Reload, "the new token works", func() bool { return !after.Refused() })
	before.WokenBy(func() { a.Enqueue("mail", 1) }, rig.Promptly)
	before.Wants(1)
	after.Wants(1)
	pushed := rig.ExternalPush(t, s, rig.Trigger{Object: "pushed", Metadata: rig.Metadata{"queue": "mail", "token": next.Token}})
	pushed.Woken(rig.Promptly)

	s.Configure(a.Source() + rig.TokensConfig(next))
	rig.Eventually(t, rig.Reload, "the old token is refused", before.Refused)
	before.Forget()
	before.Ends(codes.Unauthenticated)
	after.Wants(1)
	if errs := rig.StreamErrors(pushed.Object); len(errs) > 0 {
		t.Errorf("the new token's stream ended with the old token: %q", errs)
	}
}

func TestBrokenConfigurationKeepsTheTokensInForce(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	old, next := rig.NewToken(t, "keda-1"), rig.NewToken(t, "keda-2")
	s := rig.Serve(t, a.Source()+rig.TokensConfig(old))
	x := rig.External(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail", "token": old.Token}})
	y := rig.External(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail", "token": next.Token}})
	x.Wants(3)
	s.Configure(a.Source() + strings.Replace(rig.TokensConfig(next), "scopes", "scoops", 1))
	rig.Eventually(t, rig.Reload, "the log tells of the fault", func() bool { return len(s.Log.Find("scoops")) > 0 })
	x.Wants(3)
	if !y.Refused() {
		t.Error("a token of a configuration that is at fault works")
	}
	s.Configure(a.Source() + rig.TokensConfig(old, next))
	rig.Eventually(t, rig.Reload, "the new token works", func() bool { return !y.Refused() })
}
