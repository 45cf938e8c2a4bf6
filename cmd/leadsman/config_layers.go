package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/leadsman/leadsman/scaler"
)

// A setting is a key of the file that a variable and a flag can set too.
type setting struct {
	key, env, flag string
	usage          string
	isBool         bool
	set            func(f *fileConfig, text string) error
}

// settings are all of them. What is secret has no flag: every user of a machine can read a process's arguments.
var settings = []setting{
	{
		key: "grpc.listen", env: "LEADSMAN_GRPC_LISTEN", flag: "grpc-listen",
		usage: "host:port to serve gRPC on (default " + defaultListen + ")",
		set:   func(f *fileConfig, text string) error { f.GRPC.Listen = text; return nil },
	},
	{
		key: "http.listen", env: "LEADSMAN_HTTP_LISTEN", flag: "http-listen",
		usage: "host:port to serve HTTP on, or " + httpOff + " (default " + defaultHTTPListen + ")",
		set:   func(f *fileConfig, text string) error { f.HTTP.Listen = &text; return nil },
	},
	{
		key: "http.auth", env: "LEADSMAN_HTTP_AUTH", flag: "http-auth",
		usage: "token or none: whether HTTP asks for the credentials that gRPC asks for (default token, where there are any)",
		set:   func(f *fileConfig, text string) error { f.HTTP.Auth = text; return nil },
	},
	{
		key: "allowInsecure", env: "LEADSMAN_ALLOW_INSECURE", flag: "allow-insecure", isBool: true,
		usage: "listen beyond loopback although there are neither tokens nor a client CA",
		set: func(f *fileConfig, text string) (err error) {
			if f.AllowInsecure, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("%q is neither true nor false", text)
			}
			return nil
		},
	},
	{
		key: "shutdownTimeout", env: "LEADSMAN_SHUTDOWN_TIMEOUT", flag: "shutdown-timeout",
		usage: "how long open calls may take to end (default 10s)",
		set: func(f *fileConfig, text string) error {
			f.ShutdownTimeout = new(duration)
			return f.ShutdownTimeout.parse(text)
		},
	},
	{
		key: "log.level", env: "LEADSMAN_LOG_LEVEL", flag: "log-level",
		usage: "debug, info, warn or error (default info)",
		set:   func(f *fileConfig, text string) error { f.Log.Level = text; return nil },
	},
	{
		key: "log.format", env: "LEADSMAN_LOG_FORMAT", flag: "log-format",
		usage: "text or json (default text)",
		set:   func(f *fileConfig, text string) error { f.Log.Format = text; return nil },
	},
}

// The shortest token that LEADSMAN_TOKEN may hold, in bytes.
const minTokenFromEnv = 16

// AddFlags makes the flags that Load reads.
func AddFlags(flags *pflag.FlagSet) {
	flags.String("config", "", "configuration file, YAML (LEADSMAN_CONFIG)")
	for _, s := range settings {
		usage := s.usage + " (" + s.env + ")"
		if s.isBool {
			flags.Bool(s.flag, false, usage)
		} else {
			flags.String(s.flag, "", usage)
		}
	}
}

func (f *fileConfig) applyFlags(flags *pflag.FlagSet, found *faults) {
	if flags == nil {
		return
	}
	for _, s := range settings {
		if flag := flags.Lookup(s.flag); flag != nil && flag.Changed {
			s.apply(f, "--"+s.flag, flag.Value.String(), found)
		}
	}
}

// applyEnvironment lays the variables over the file. Other variables that begin with LEADSMAN_ are no fault: for a
// Service called leadsman, Kubernetes sets LEADSMAN_PORT and LEADSMAN_SERVICE_HOST in every pod.
func (f *fileConfig) applyEnvironment(getenv func(string) string, found *faults) {
	for _, s := range settings {
		if text := getenv(s.env); text != "" {
			s.apply(f, s.env, text, found)
		}
	}
	f.applySource(getenv("LEADSMAN_URL"), getenv("LEADSMAN_PRESET"), found)
	f.applyToken(strings.TrimSpace(getenv("LEADSMAN_TOKEN")), found)
}

func (s setting) apply(f *fileConfig, name, text string, found *faults) {
	found.setBy(s.key, name)
	if err := s.set(f, text); err != nil {
		found.addf(s.key, "%v", err)
	}
}

// applySource makes the source that the environment describes, or changes the file's of the same name.
func (f *fileConfig) applySource(url, preset string, found *faults) {
	key := "sources." + defaultSource
	if url == "" {
		if preset != "" {
			found.warnf("LEADSMAN_PRESET", "has no effect without LEADSMAN_URL")
		}
		return
	}
	source := f.Sources[defaultSource]
	source.URL, source.URLFile = url, ""
	found.setBy(key+".url", "LEADSMAN_URL")
	if preset != "" {
		source.Preset = preset
		found.setBy(key+".preset", "LEADSMAN_PRESET")
	}
	if f.Sources == nil {
		f.Sources = map[string]fileSource{}
	}
	f.Sources[defaultSource] = source
}

// applyToken adds the token of the environment, good for everything. From here on only its digest is known.
func (f *fileConfig) applyToken(token string, found *faults) {
	switch {
	case token == "":
		return
	case len(token) < minTokenFromEnv:
		found.addf("LEADSMAN_TOKEN", "is shorter than %d bytes; make one with: leadsman token new --id env", minTokenFromEnv)
	case len(token) > scaler.MaxToken:
		found.addf("LEADSMAN_TOKEN", "is longer than %d bytes; make one with: leadsman token new --id env", scaler.MaxToken)
	}
	// Also when it is at fault: what was meant to be protected must not be reported as unprotected too.
	found.setBy(fmt.Sprintf("tokens[%d]", len(f.Tokens)), "LEADSMAN_TOKEN")
	f.Tokens = append(f.Tokens, fileToken{fileGrant: fileGrant{ID: "env"}, SHA256: scaler.HashToken(token)})
}
