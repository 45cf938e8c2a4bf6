package auth_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

func TestWithoutPolicyEverybodyMayDoEverything(t *testing.T) {
	a := authority(t, auth.Policy{})
	id, err := a.Authenticate(context.Background(), "nonsense", "")
	if err != nil {
		t.Fatal(err)
	}
	if !id.Allows(auth.Signal) || !id.Source("any") || !id.QueuePattern("") || !id.Namespace("any") || !a.Open() {
		t.Fatalf("%v was limited", id)
	}
}

func TestZeroIdentityMayDoNothing(t *testing.T) {
	var id auth.Identity
	if id.Allows(auth.Read) || id.Source("") || id.Queue("") || id.QueuePattern("") || id.Namespace("") {
		t.Fatal("the zero Identity is allowed something")
	}
}

func TestGrantNarrows(t *testing.T) {
	token, entry := mint(t, auth.Grant{
		ID: "keda-mail", Scopes: []auth.Scope{auth.Read}, Sources: []string{"mail"},
		Queues: []string{"mail-*"}, Namespaces: []string{"team-mail"},
	})
	id, err := authority(t, auth.Policy{Tokens: []auth.Token{entry}}).Authenticate(context.Background(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, allowed := range map[string]bool{
		"scope read": id.Allows(auth.Read), "source mail": id.Source("mail"), "queue mail-out": id.Queue("mail-out"),
		"namespace team-mail": id.Namespace("team-mail"),
	} {
		if !allowed {
			t.Errorf("%s is refused", what)
		}
	}
	for what, allowed := range map[string]bool{
		"scope inspect": id.Allows(auth.Inspect), "source bill": id.Source("bill"), "queue bill": id.Queue("bill"),
		"all queues": id.QueuePattern(""), "namespace other": id.Namespace("other"), "no namespace": id.Namespace(""),
	} {
		if allowed {
			t.Errorf("%s is allowed", what)
		}
	}
	var denied *auth.DeniedError
	if err := id.Check(auth.Inspect); !errors.As(err, &denied) || err.Error() != `token "keda-mail" is not granted scope "inspect"` {
		t.Errorf("Check(inspect) = %v", err)
	}
}

func TestMostExplicitCredentialDecidesAlone(t *testing.T) {
	good, entry := mint(t, auth.Grant{ID: "good"})
	other, second := mint(t, auth.Grant{ID: "other"})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry, second}})
	for name, tc := range map[string]struct{ bearer, metadata, want string }{
		"header":                                 {good, "", `token "good"`},
		"metadata":                               {"", good, `token "good"`},
		"metadata from a Secret with a newline":  {"", good + "\n", `token "good"`},
		"header before metadata":                 {good, other, `token "good"`},
		"bad header is not rescued by metadata":  {"ldm_good_wrong", good, ""},
		"good header needs no help of metadata":  {good, "wrong", `token "good"`},
		"nothing":                                {"", "", ""},
		"the digest is not the token":            {entry.SHA256, "", ""},
		"a token with one character more":        {good + "x", "", ""},
		"a token in other case":                  {strings.ToUpper(good), "", ""},
		"the right id with somebody else's rest": {"ldm_good" + strings.TrimPrefix(other, "ldm_other"), "", ""},
		"oversized":                              {strings.Repeat("x", 1<<20), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := a.Authenticate(context.Background(), tc.bearer, tc.metadata)
			if tc.want == "" {
				if !errors.Is(err, auth.ErrUnauthenticated) {
					t.Fatalf("got %v, %v", id, err)
				}
				return
			}
			if err != nil || id.String() != tc.want {
				t.Fatalf("got %v, %v, want %s", id, err, tc.want)
			}
		})
	}
}

func TestTokenEndsWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expires := time.Now().Add(time.Hour)
		token, entry := mint(t, auth.Grant{ID: "short", Expires: expires})
		a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
		id, err := a.Authenticate(t.Context(), token, "")
		if err != nil || !id.Expires().Equal(expires) {
			t.Fatalf("%v until %v, %v", id, id.Expires(), err)
		}
		time.Sleep(time.Hour - time.Nanosecond)
		if !id.Allows(auth.Read) {
			t.Fatal("ended too early")
		}
		time.Sleep(time.Nanosecond)
		if id.Allows(auth.Read) || id.Source("x") || id.QueuePattern("") || id.Namespace("x") {
			t.Fatal("an identity outlives its token")
		}
		if _, err := a.Authenticate(t.Context(), token, ""); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatalf("an expired token gives %v", err)
		}
	})
}

func TestRefusalsAreLoggedSeldomAndWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, entry := mint(t, auth.Grant{ID: "gone", Expires: time.Now()})
		logger, log := newLogger()
		a, err := auth.New(auth.Policy{Tokens: []auth.Token{entry}}, logger)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			_, _ = a.Authenticate(t.Context(), token, "")
		}
		if got := strings.Count(log.String(), "request refused"); got != 1 {
			t.Fatalf("%d lines for 1000 refusals at once", got)
		}
		time.Sleep(10 * time.Second)
		_, _ = a.Authenticate(t.Context(), token+"x", "")
		text := log.String()
		for _, want := range []string{`token \"gone\" expired`, "unknown token", "refusals_not_logged=999"} {
			if !strings.Contains(text, want) {
				t.Errorf("the log lacks %s:\n%s", want, text)
			}
		}
		if secret := strings.TrimPrefix(token, "ldm_gone_"); strings.Contains(text, secret[:8]) || strings.Contains(text, entry.SHA256[:8]) {
			t.Errorf("the log shows a secret:\n%s", text)
		}
	})
}

func TestSetRefusesAMalformedPolicyAndKeepsTheOldOne(t *testing.T) {
	token, entry := mint(t, auth.Grant{ID: "kept"})
	a := authority(t, auth.Policy{Tokens: []auth.Token{entry}})
	changed := a.Changed()
	for _, broken := range []auth.Policy{
		{Tokens: []auth.Token{{Grant: auth.Grant{ID: "x"}, SHA256: "abc"}}},
		{Tokens: []auth.Token{{Grant: auth.Grant{ID: "x"}, SHA256: strings.Repeat("z", 64)}}},
		{Tokens: []auth.Token{{Grant: auth.Grant{ID: "x"}}}},
		{ClientCA: true, Clients: []auth.Client{{Grant: auth.Grant{ID: "x"}}}},
	} {
		if err := a.Set(broken); err == nil {
			t.Errorf("%+v was accepted", broken)
		}
	}
	if _, err := a.Authenticate(context.Background(), token, ""); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Fatal("a refused policy counts as a change")
	default:
	}
}

// Everything at once: readers, swaps and waiters. The race detector judges.
func TestPolicyIsSwappedUnderLoad(t *testing.T) {
	kept, entry := mint(t, auth.Grant{ID: "kept", Queues: []string{"mail-*"}})
	gone, second := mint(t, auth.Grant{ID: "gone"})
	both, one := auth.Policy{Tokens: []auth.Token{entry, second}}, auth.Policy{Tokens: []auth.Token{entry}}
	a := authority(t, both)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				id, err := a.Authenticate(ctx, kept, "")
				if err != nil || !id.Queue("mail-a") {
					t.Errorf("the token that stays is refused: %v", err)
					return
				}
				_, _ = a.Authenticate(ctx, "", gone)
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-a.Changed():
				case <-ctx.Done():
				}
			}
		})
	}
	for i := range 500 {
		next := both
		if i%2 == 0 {
			next = one
		}
		if err := a.Set(next); err != nil {
			t.Error(err)
		}
	}
	if err := a.Set(one); err != nil {
		t.Error(err)
	}
	if _, err := a.Authenticate(ctx, gone, ""); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a revoked token gives %v", err)
	}
	cancel()
	group.Wait()
}
