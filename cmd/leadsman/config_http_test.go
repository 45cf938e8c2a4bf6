package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHTTPCanBeTurnedOff(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml  string
		env   map[string]string
		flags []string
	}{
		"empty in the file": {yaml: `http: {listen: ""}`},
		"off in the file":   {yaml: `http: {listen: "off"}`},
		"the variable":      {env: map[string]string{"LEADSMAN_HTTP_LISTEN": "off"}},
		"the flag":          {flags: []string{"--http-listen", "off"}},
		"an empty flag":     {flags: []string{"--http-listen="}},
	} {
		got, err := load(t, tc.yaml, tc.env, tc.flags...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(HTTPConfig{}, got.HTTP); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHTTPFaults(t *testing.T) {
	for name, tc := range map[string]struct{ yaml, want string }{
		"no address":            {"http: {listen: here}", `http.listen: "here" is no address; write host:port, such as 127.0.0.1:8080`},
		"port":                  {"http: {listen: '127.0.0.1:web'}", `http.listen: "127.0.0.1:web" has no port`},
		"off without quotes":    {"http: {listen: off}", "http.listen: must be text, not true or false; put it into quotes"},
		"auth":                  {"http: {auth: basic}", `http.auth: "basic" is neither token nor none`},
		"auth without tokens":   {"http: {auth: token}", "http.auth: is token, and there are neither tokens nor a client CA"},
		"TLS files":             {"http: {tls: {certFile: gone.crt, keyFile: gone.key}}", "gone.crt: no such file"},
		"key without cert":      {"http: {tls: {keyFile: tls.key}}", "http.tls.certFile: is missing"},
		"cert without key":      {"http: {tls: {certFile: tls.crt}}", "http.tls.keyFile: is missing"},
		"unknown key":           {"http: {lisen: x}", `http.lisen: unknown key; did you mean "listen"?`},
		"fault names the flag":  {"", "--http-listen: "},
		"clients of HTTP alone": {"clients: [{san: x}]", "clients: have no effect"},
	} {
		var flags []string
		if name == "fault names the flag" {
			flags = []string{"--http-listen", "nonsense"}
		}
		if _, err := load(t, tc.yaml, nil, flags...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestHTTPBindGuard(t *testing.T) {
	token := map[string]string{"LEADSMAN_TOKEN": "0123456789abcdef"}
	for _, tc := range []struct {
		listen string
		env    map[string]string
		flags  []string
		want   string // of the fault; "" for none
	}{
		{listen: "127.0.0.1:1"},
		{listen: "localhost:1"},
		{listen: "off"},
		{listen: ":1", want: "--http-listen: \":1\" can be reached from other machines"},
		{listen: "0.0.0.0:1", want: "can be reached from other machines"},
		{listen: "0.0.0.0:1", env: token},
		{listen: "0.0.0.0:1", flags: []string{"--allow-insecure"}},
		{listen: "127.0.0.1:1", env: token, flags: []string{"--http-auth", "none"}},
		{listen: "0.0.0.0:1", env: token, flags: []string{"--http-auth", "none"}, want: "--http-auth: is none, and \"0.0.0.0:1\" can be reached"},
		{listen: "0.0.0.0:1", env: token, flags: []string{"--http-auth", "none", "--allow-insecure"}},
	} {
		_, err := load(t, "", tc.env, append([]string{"--http-listen", tc.listen}, tc.flags...)...)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %v %v: %v", tc.listen, tc.env, tc.flags, err)
		}
	}
}
