package auth_test

import (
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

func TestMintedTokenHasTheFormAndIsKnownByItsHash(t *testing.T) {
	token, sum, err := auth.Mint("keda-mail")
	if err != nil {
		t.Fatal(err)
	}
	id, err := auth.ParseToken(token)
	if err != nil || id != "keda-mail" {
		t.Fatalf("ParseToken = %q, %v", id, err)
	}
	if sum != auth.Hash(token) || len(sum) != 64 {
		t.Fatalf("Mint returned the digest %q", sum)
	}
}

func TestMintNeverRepeatsASecret(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		token, _, err := auth.Mint("x")
		if err != nil {
			t.Fatal(err)
		}
		if seen[token] {
			t.Fatal("the same token came twice")
		}
		seen[token] = true
	}
}

func TestMintRefusesAnIDThatCannotStandInAToken(t *testing.T) {
	for _, id := range []string{"", "Upper", "under_score", "spa ce", strings.Repeat("a", 33), "é"} {
		if _, _, err := auth.Mint(id); err == nil {
			t.Errorf("Mint(%q) succeeded", id)
		}
	}
}

func TestParseTokenSaysWhatIsWrongWithoutRepeatingIt(t *testing.T) {
	const secret = "S3cretS3cretS3cretS3cretS3cretS3cret"
	for name, tc := range map[string]struct{ token, want string }{
		"no prefix":    {"tok_keda_" + secret, "begins with ldm_"},
		"empty":        {"", "begins with ldm_"},
		"two parts":    {"ldm_" + strings.ReplaceAll(secret, "_", ""), "three parts"},
		"bad id":       {"ldm_KEDA_" + secret, "lower-case"},
		"short secret": {"ldm_keda_" + secret[:31], "at least 32"},
		"line break":   {"ldm_keda_" + secret + "\n", "at least 32"},
		"endless":      {"ldm_keda_" + strings.Repeat(secret, 20), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.ParseToken(tc.token)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
			if strings.Contains(err.Error(), secret[:8]) {
				t.Fatalf("the error repeats the secret: %v", err)
			}
		})
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("ldm_keda-mail_0123456789abcdefghijABCDEFGHIJ__--")
	f.Add("ldm__")
	f.Add("ldm_a_")
	f.Add("Bearer ldm_a_b")
	f.Fuzz(func(t *testing.T, token string) {
		id, err := auth.ParseToken(token)
		if err != nil {
			if id != "" {
				t.Fatalf("an id %q beside an error", id)
			}
			return
		}
		if !auth.ValidID(id) || !strings.HasPrefix(token, "ldm_"+id+"_") {
			t.Fatalf("id %q of %q", id, token)
		}
		// What parses is what authenticates: no white space or control character survives in it.
		if strings.TrimSpace(token) != token {
			t.Fatalf("white space in %q", token)
		}
	})
}
