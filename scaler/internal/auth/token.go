package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// MaxToken is the length in bytes up to which a token is looked at.
const MaxToken = 512

const (
	tokenPrefix  = "ldm_"
	secretLength = 40 // base62 characters: 238 bits
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var (
	idForm     = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{32,}$`)
)

// ErrTokenID tells what an ID has to look like.
var ErrTokenID = errors.New("the id must be 1 to 32 lower-case letters, digits and dashes")

// Mint makes a new token, ldm_<id>_<secret>, and the SHA-256 by which a [Token] knows it. The token is nowhere
// else: whoever calls Mint has to hand it on.
func Mint(id string) (token, sha256 string, err error) {
	if !ValidID(id) {
		return "", "", ErrTokenID
	}
	token = tokenPrefix + id + "_" + newSecret()
	return token, Hash(token), nil
}

// ValidID tells whether id can name a credential.
func ValidID(id string) bool { return idForm.MatchString(id) }

// Hash returns the SHA-256 of a whole token in hexadecimal.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ParseToken tells whether a token has the form that Mint gives it, and returns its id. The error says which part
// is wrong and repeats nothing of it.
func ParseToken(token string) (id string, err error) {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return "", fmt.Errorf("a token begins with %s", tokenPrefix)
	}
	// The secret may hold underscores, an id may not: the first one parts them.
	id, secret, ok := strings.Cut(rest, "_")
	switch {
	case !ok:
		return "", fmt.Errorf("a token has three parts, %s<id>_<secret>", tokenPrefix)
	case !ValidID(id):
		return "", ErrTokenID
	case len(token) > MaxToken:
		return "", fmt.Errorf("the token is longer than %d bytes", MaxToken)
	case !secretForm.MatchString(secret):
		return "", errors.New("the secret must be at least 32 letters, digits, dashes and underscores; was it cut or wrapped?")
	}
	return id, nil
}

// newSecret draws base62 characters, each with the same likelihood.
func newSecret() string {
	const fair = 256 - 256%len(base62) // bytes from here on would favour the first characters
	out := make([]byte, 0, secretLength)
	var draw [2 * secretLength]byte
	for len(out) < secretLength {
		_, _ = rand.Read(draw[:]) // never fails, as crypto/rand promises
		for _, b := range draw {
			if int(b) < fair && len(out) < secretLength {
				out = append(out, base62[int(b)%len(base62)])
			}
		}
	}
	return string(out)
}
