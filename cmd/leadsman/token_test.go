package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/scaler"
)

// runToken runs "leadsman token" with arguments and standard input.
func runToken(stdin string, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	cmd := newTokenCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err = cmd.Execute()
	return out.String(), err
}

func TestTokenNewPrintsATokenAndAStanzaThatFitTogether(t *testing.T) {
	out, err := runToken("", "new", "--id", "keda-mail", "--scope", "read,inspect", "--source", "mail", "--queue", "mail-*",
		"--queue", "it's: [odd] \"#1\"", "--namespace", "team-mail", "--expires", "2999-03-01")
	if err != nil {
		t.Fatal(err)
	}
	// The output as a whole is a text to read; from "tokens:" on it is YAML to paste.
	head, yaml, ok := strings.Cut(out, "tokens:\n")
	if !ok {
		t.Fatalf("no stanza:\n%s", out)
	}
	token := strings.Split(head, "\n")[1]
	config, err := load(t, "sources: {mail: {url: 'postgres://h/d'}}\ntokens:\n"+yaml, nil)
	if err != nil {
		t.Fatalf("the stanza is refused: %v\n%s", err, yaml)
	}
	want := []scaler.Token{{SHA256: scaler.HashToken(token), Grant: scaler.Grant{
		ID: "keda-mail", Scopes: []scaler.Scope{scaler.ScopeRead, scaler.ScopeInspect}, Sources: []string{"mail"},
		Queues: []string{"mail-*", "it's: [odd] \"#1\""}, Namespaces: []string{"team-mail"},
		Expires: time.Date(2999, 3, 1, 0, 0, 0, 0, time.UTC),
	}}}
	if diff := cmp.Diff(want, config.Access.Tokens); diff != "" {
		t.Errorf("the stanza means something else (-want +got):\n%s", diff)
	}
	if _, err := scaler.ParseToken(token); err != nil {
		t.Error(err)
	}
}

func TestTokenNewReadsOnlyByDefault(t *testing.T) {
	out, err := runToken("", "new", "--id", "x", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Token  string
		Config stanza
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := stanza{ID: "x", SHA256: scaler.HashToken(got.Token), Scopes: []string{"read"}}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Error(diff)
	}
}

func TestTokenNewRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`"id" not set`:                     {},
		"--id: the id must be":             {"--id", "Keda_Mail"},
		`did you mean "inspect"?`:          {"--id", "x", "--scope", "inspekt"},
		"--expires: \"soon\" is no date":   {"--id", "x", "--expires", "soon"},
		"--output: \"xml\" is neither":     {"--id", "x", "-o", "xml"},
		"--scope: is empty":                {"--id", "x", "--scope", ""},
		"--queue: is empty; leave it out":  {"--id", "x", "--queue", ""},
		"--source: is empty; leave it out": {"--id", "x", "--source", "a", "--source", ""},
	} {
		out, err := runToken("", append([]string{"new"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
		if strings.Contains(out, "ldm_") {
			t.Errorf("%v: a token was printed all the same", args)
		}
	}
}

func TestTokenCheckShowsTheHashAndNeverTheSecret(t *testing.T) {
	token, sum, err := scaler.MintToken("keda")
	if err != nil {
		t.Fatal(err)
	}
	want := "id:     keda\nsha256: " + sum + "\n"
	if got, err := runToken("", "check", token); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := runToken(token+"\r\n", "check", "-"); err != nil || got != want {
		t.Errorf("from standard input: %q, %v", got, err)
	}
	out, err := runToken("", "check", token[:30])
	if err == nil || strings.Contains(out+err.Error(), token[9:20]) {
		t.Errorf("a token that was cut: %q, %v", out, err)
	}
	if _, err := runToken("", "check", "-"); err == nil {
		t.Error("empty input was accepted")
	}
}

func TestTokenHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"new", "--help"}, {"check", "--help"}} {
		out, err := runToken("", args...)
		if err != nil || !strings.Contains(out, "Usage:") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if len(args) == 2 && !strings.Contains(out, "Examples:") {
			t.Errorf("%v shows no example:\n%s", args, out)
		}
	}
}
