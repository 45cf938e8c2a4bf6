package scaler

import "github.com/leadsman/leadsman/scaler/internal/auth"

// MaxToken is the length in bytes up to which a token is looked at.
const MaxToken = auth.MaxToken

// Scopes returns every scope there is.
func Scopes() []Scope { return auth.Scopes() }

// MintToken makes a new token and the SHA-256 by which a [Token] knows it. The token is nowhere else.
func MintToken(id string) (token, sha256 string, err error) { return auth.Mint(id) }

// ParseToken tells whether a token has the form that MintToken gives it, and returns its id. The error repeats
// nothing of the token.
func ParseToken(token string) (id string, err error) { return auth.ParseToken(token) }

// HashToken returns the SHA-256 of a whole token in hexadecimal.
func HashToken(token string) string { return auth.Hash(token) }

// ValidID tells whether id can name a credential.
func ValidID(id string) bool { return auth.ValidID(id) }
