package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reload is the deadline for a changed file to be in force; the server looks each 2 s.
const reload = 15 * time.Second

// A token is what `leadsman token new` makes.
type token struct {
	Token  string          `json:"token"`
	Config json.RawMessage `json:"config"` // its entry in the configuration file
}

func newToken(t *testing.T, id string, args ...string) token {
	t.Helper()
	var made token
	out := leadsman(t, t.TempDir(), append([]string{"token", "new", "--id", id, "-o", "json"}, args...)...)
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// tokensConfig is the part of the configuration file that admits tokens. JSON is YAML.
func tokensConfig(tokens ...token) string {
	entries := make([]string, len(tokens))
	for i, made := range tokens {
		entries[i] = string(made.Config)
	}
	return "tokens: [" + strings.Join(entries, ", ") + "]\n"
}

// refused tells whether KEDA's calls are refused for want of a valid credential.
func (s *scaler) refused() bool {
	_, _, err := s.GetMetricsAndActivity(s.context(), "s0-")
	return status.Code(err) == codes.Unauthenticated
}

func TestTokenTravelsInTriggerMetadata(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("mail", 3)
	good, narrow := newToken(t, "keda"), newToken(t, "narrow", "--queue", "bill-*")
	s := serve(t, a.source()+tokensConfig(good, narrow))
	env := map[string]string{"LEADSMAN_TOKEN": good.Token, "OTHER": narrow.Token, "EMPTY": ""}

	for name, tr := range map[string]trigger{
		"token":                              {metadata: metadata{"token": good.Token}},
		"tokenFromEnv":                       {metadata: metadata{"tokenFromEnv": "LEADSMAN_TOKEN"}, env: env},
		"token before tokenFromEnv":          {metadata: metadata{"token": good.Token, "tokenFromEnv": "OTHER"}, env: env},
		"token beside an empty tokenFromEnv": {metadata: metadata{"token": good.Token, "tokenFromEnv": "EMPTY"}, env: env},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr.metadata["queue"] = "mail"
			p := externalPush(t, s, tr)
			p.woken(promptly)
			p.wants(3)
		})
	}

	forged := good.Token[:len(good.Token)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(good.Token, "A")]
	t.Cleanup(func() { // after all of them
		for _, secret := range []string{good.Token, narrow.Token, forged} {
			if lines := s.log.find(secret); len(lines) > 0 {
				t.Errorf("the log shows a token: %q", lines)
			}
		}
	})
	for name, tr := range map[string]trigger{
		"no token":            {metadata: metadata{}},
		"wrong":               {metadata: metadata{"token": newToken(t, "keda").Token}},
		"forged":              {metadata: metadata{"token": forged}},
		"its hash":            {metadata: metadata{"token": sum(t, good)}},
		"not in the target":   {metadata: metadata{"tokenFromEnv": "MISSING"}, env: env},
		"empty in the target": {metadata: metadata{"tokenFromEnv": "EMPTY"}, env: env},
		"wrong before good":   {metadata: metadata{"token": forged, "tokenFromEnv": "LEADSMAN_TOKEN"}, env: env},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr.metadata["queue"] = "mail"
			p := externalPush(t, s, tr)
			if !p.refused() {
				t.Error("the call was not refused as Unauthenticated")
			}
			if specs := p.GetMetricSpecForScaling(p.context()); len(specs) != 0 {
				t.Errorf("the metric spec was given away: %v", specs)
			}
			p.ends(codes.Unauthenticated)
		})
	}

	t.Run("for other queues", func(t *testing.T) {
		t.Parallel()
		p := externalPush(t, s, trigger{metadata: metadata{"queue": "mail", "token": narrow.Token}})
		if _, _, err := p.GetMetricsAndActivity(p.context(), "s0-"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("got %v, want PermissionDenied", err)
		}
		p.ends(codes.PermissionDenied)
	})
}

// sum is the token's hash in the configuration file: who reads it there cannot use it.
func sum(t *testing.T, of token) string {
	t.Helper()
	var entry struct {
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(of.Config, &entry); err != nil || entry.SHA256 == "" {
		t.Fatalf("no hash in %s: %v", of.Config, err)
	}
	return entry.SHA256
}

// ends waits until the push stream has ended with this code, and expects no true.
func (p *pushScaler) ends(code codes.Code) {
	p.t.Helper()
	eventually(p.t, reload, "the stream ends with "+code.String(), func() bool {
		return len(kedaLog.find(strconv.Quote(p.object), "error running StreamIsActive", "code = "+code.String())) > 0
	})
	if len(p.wakes) > 0 {
		p.t.Error("a true was pushed")
	}
}

// A token is rotated while streams are open: KEDA keeps the metadata that a stream was opened with, so for some time
// both tokens have to work.
func TestTokenRotationKeepsStreamsUntilTheOldTokenIsRemoved(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	old, next := newToken(t, "keda-1"), newToken(t, "keda-2")
	s := serve(t, a.source()+tokensConfig(old))
	before := externalPush(t, s, trigger{object: "before", metadata: metadata{"queue": "mail", "token": old.Token}})
	before.opens()
	after := external(t, s, trigger{object: "after", metadata: metadata{"queue": "mail", "token": next.Token}})
	if !after.refused() {
		t.Fatal("a token works that is not configured yet")
	}

	s.configure(a.source() + tokensConfig(old, next))
	eventually(t, reload, "the new token works", func() bool { return !after.refused() })
	before.wokenBy(func() { a.enqueue("mail", 1) }, promptly)
	before.wants(1)
	after.wants(1)
	pushed := externalPush(t, s, trigger{object: "pushed", metadata: metadata{"queue": "mail", "token": next.Token}})
	pushed.woken(promptly)

	s.configure(a.source() + tokensConfig(next))
	eventually(t, reload, "the old token is refused", before.refused)
	before.forget()
	before.ends(codes.Unauthenticated)
	after.wants(1)
	if errs := streamErrors(pushed.object); len(errs) > 0 {
		t.Errorf("the new token's stream ended with the old token: %q", errs)
	}
}

func TestBrokenConfigurationKeepsTheTokensInForce(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("mail", 3)
	old, next := newToken(t, "keda-1"), newToken(t, "keda-2")
	s := serve(t, a.source()+tokensConfig(old))
	x := external(t, s, trigger{metadata: metadata{"queue": "mail", "token": old.Token}})
	y := external(t, s, trigger{metadata: metadata{"queue": "mail", "token": next.Token}})
	x.wants(3)
	s.configure(a.source() + strings.Replace(tokensConfig(next), "scopes", "scoops", 1))
	eventually(t, reload, "the log tells of the fault", func() bool { return len(s.log.find("scoops")) > 0 })
	x.wants(3)
	if !y.refused() {
		t.Error("a token of a configuration that is at fault works")
	}
	s.configure(a.source() + tokensConfig(old, next))
	eventually(t, reload, "the new token works", func() bool { return !y.refused() })
}
