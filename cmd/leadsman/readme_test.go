package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the README shows of a configuration file is one that the server takes, once the digest is a whole one and the
// files that it names are there.
func TestTheConfigurationInTheREADMEIsTaken(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(grpc:.*?)```").FindSubmatch(data)
	if block == nil {
		t.Fatal("the README shows no configuration file")
	}
	dir := t.TempDir()
	writePair(t, dir, "tls.crt", "tls.key")
	text := strings.NewReplacer("5f…", strings.Repeat("5f", 32), "ca.crt", "tls.crt").Replace(string(block[1]))
	text = strings.ReplaceAll(text, "/etc/leadsman/", dir+"/")
	write(t, dir, "mail-url", "postgres://reader@db/app\n")
	write(t, dir, "mail-direct", "postgres://reader@db/app\n")
	path := write(t, dir, "leadsman.yaml", text)
	cfg, err := Load(Inputs{Getenv: func(name string) string {
		if name == "LEADSMAN_CONFIG" {
			return path
		}
		return ""
	}, Presets: presets})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Sources) != 3 || len(cfg.Access.Tokens) != 1 || cfg.GRPC.TLS == nil {
		t.Errorf("it was read as %v", cfg)
	}
}
