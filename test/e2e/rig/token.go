package rig

import (
	"encoding/json"
	"strings"
	"testing"
)

// A Token is what `leadsman token new` makes.
type Token struct {
	Token  string          `json:"token"`
	Config json.RawMessage `json:"config"` // its entry in the configuration file
}

// NewToken makes a token with an id; args narrow it.
func NewToken(tb testing.TB, id string, args ...string) Token {
	tb.Helper()
	var made Token
	out := Run(tb, tb.TempDir(), append([]string{"token", "new", "--id", id, "-o", "json"}, args...)...)
	if err := json.Unmarshal(out, &made); err != nil {
		tb.Fatal(err)
	}
	return made
}

// TokensConfig is the part of the configuration file that admits tokens. JSON is YAML.
func TokensConfig(tokens ...Token) string {
	entries := make([]string, len(tokens))
	for i, made := range tokens {
		entries[i] = string(made.Config)
	}
	return "tokens: [" + strings.Join(entries, ", ") + "]\n"
}
