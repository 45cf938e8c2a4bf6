package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
)

// someSum is the SHA-256 of a token that nobody knows.
const someSum = "5f6b0d1d0f6f9c7b3f9d6a3c7e2b1a4d5c6e7f8091a2b3c4d5e6f708192a3b4c"

// inputs reads this environment, with the presets that this version has.
func inputs(env map[string]string) Inputs {
	return Inputs{
		Getenv: func(key string) string { return env[key] },
		Presets: map[string]driver.Preset{
			"river":  {Name: "river", Postgres: &driver.SQL{}, SQLite: &driver.SQL{}},
			"pgonly": {Name: "pgonly", Postgres: &driver.SQL{}},
			"sql":    {Name: "sql"},
		},
	}
}

// load writes a file, "" for none, and loads it with an environment and flags.
func load(t *testing.T, yaml string, env map[string]string, flags ...string) (Config, error) {
	t.Helper()
	all := map[string]string{}
	if yaml != "" {
		all["LEADSMAN_CONFIG"] = write(t, t.TempDir(), "leadsman.yaml", yaml)
	}
	maps.Copy(all, env)
	in := inputs(all)
	in.Flags = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(in.Flags)
	if err := in.Flags.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return Load(in)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// secretText compares Secrets by what they hold.
var secretText = cmp.Transformer("secret", func(s Secret) string { return s.value + "|" + filepath.Base(s.file) })

func TestNothingConfiguredIsTheEmbeddedSourceOnLoopback(t *testing.T) {
	got, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		GRPC: GRPCConfig{Listen: "127.0.0.1:50051"}, HTTP: HTTPConfig{Listen: "127.0.0.1:8080"},
		ShutdownTimeout: 10 * time.Second, Log: LogConfig{Format: "text"},
		Sources: []SourceConfig{}, Embedded: true,
		Sampling: SamplingConfig{
			MaxAge: time.Second, StaleAfter: 30 * time.Second, CountLimit: 100_000, Timeout: 2 * time.Second,
			Resync: 10 * time.Second,
		},
	}
	if diff := cmp.Diff(want, got, secretText); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOneSourceFromTheEnvironmentAlone(t *testing.T) {
	const token = "a token of my own, any text"
	got, err := load(t, "", map[string]string{
		"LEADSMAN_URL": "postgresql://u:hunter2@h/d", "LEADSMAN_TOKEN": token + "\n", "LEADSMAN_GRPC_LISTEN": ":50051",
		"LEADSMAN_HTTP_LISTEN": ":8080", "LEADSMAN_HTTP_AUTH": "token",
		"LEADSMAN_LOG_FORMAT": "json", "LEADSMAN_LOG_LEVEL": "debug",
		"LEADSMAN_SERVICE_HOST": "10.0.0.1", "LEADSMAN_PORT": "tcp://10.0.0.1:50051", // as Kubernetes sets them
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		GRPC: GRPCConfig{Listen: ":50051"}, HTTP: HTTPConfig{Listen: ":8080"},
		ShutdownTimeout: 10 * time.Second, Log: LogConfig{Level: slog.LevelDebug, Format: "json"},
		Access:   scaler.Access{Tokens: []scaler.Token{{Grant: scaler.Grant{ID: "env"}, SHA256: scaler.HashToken(token)}}},
		Sources:  []SourceConfig{{Name: "default", Engine: "postgres", Preset: "river", URL: Secret{value: "postgresql://u:hunter2@h/d"}, Sampling: defaultSampling}},
		Sampling: defaultSampling,
		Warnings: []string{
			`grpc.tls: is not set: tokens travel in clear to ":50051"`, `http.tls: is not set: tokens travel in clear to ":8080"`,
		},
	}
	if diff := cmp.Diff(want, got, secretText); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWholeFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mail-url", "postgres://u:p@h/d\n")
	write(t, dir, "mail-direct", "postgres://u:p@direct/d\n")
	path := write(t, dir, "leadsman.yaml", wholeFile)
	got, err := Load(inputs(map[string]string{"LEADSMAN_CONFIG": path}))
	if err != nil {
		t.Fatal(err)
	}
	base := SamplingConfig{
		MaxAge: 2 * time.Second, StaleAfter: time.Minute, CountLimit: 5000, Timeout: time.Second, Resync: 10 * time.Second,
	}
	exact, slow := base, base
	exact.CountLimit, slow.MaxAge = 0, 5*time.Second
	want := Config{
		File: path, GRPC: GRPCConfig{Listen: "127.0.0.1:1234"}, HTTP: HTTPConfig{Listen: "127.0.0.1:1235", Everybody: true},
		ShutdownTimeout: time.Minute, Sampling: base,
		Log: LogConfig{Level: slog.LevelWarn, Format: "json"},
		Sources: []SourceConfig{
			{
				Name: "bill", Engine: "postgres", Preset: "sql", URL: Secret{value: "host=db user=app password=hunter2"}, Query: "select 1",
				Listen:   &driver.Listen{Channels: []string{"jobs"}, Payload: "queue", Echo: []time.Duration{100 * time.Millisecond, time.Second}},
				Sampling: slow,
			},
			{Name: "file", Engine: "sqlite", Preset: "river", URL: Secret{value: "SQLite:jobs.db"}, Sampling: base},
			{
				Name: "mail", Engine: "postgres", Preset: "river", URL: Secret{file: "mail-url"}, ListenURL: Secret{file: "mail-direct"},
				Schema: "public", MaxConns: 2, Pooler: true, RunningMaxAge: time.Hour, Sampling: exact,
			},
		},
		Access: scaler.Access{Tokens: []scaler.Token{
			{SHA256: someSum, Grant: scaler.Grant{
				ID: "keda-mail", Scopes: []scaler.Scope{scaler.ScopeRead}, Sources: []string{"mail"}, Queues: []string{"mail-*"},
				Namespaces: []string{"team-mail"}, Expires: time.Date(2999, 3, 1, 0, 0, 0, 0, time.UTC),
			}},
			{SHA256: strings.ToUpper(scaler.HashToken("x")), Grant: scaler.Grant{
				ID: "ops", Expires: time.Date(2999, 3, 1, 10, 0, 0, 0, time.UTC),
			}},
		}},
	}
	if diff := cmp.Diff(want, got, secretText, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if url, err := got.Sources[2].URL.Get(); err != nil || url != "postgres://u:p@h/d" {
		t.Errorf("the URL from the file is %q, %v", url, err)
	}
}

func TestMissingSecretFilesAreNamed(t *testing.T) {
	_, err := load(t, wholeFile, nil)
	if err == nil || !strings.Contains(err.Error(), "sources.mail.urlFile: open ") || !strings.Contains(err.Error(), "mail-direct: no such file") {
		t.Errorf("got %v", err)
	}
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	const file = "grpc: {listen: '127.0.0.1:1'}\nlog: {level: error}\nsources: {default: {url: 'sqlite:a.db', maxAge: 7s}}"
	env := map[string]string{"LEADSMAN_GRPC_LISTEN": "127.0.0.1:2", "LEADSMAN_LOG_LEVEL": "warn", "LEADSMAN_URL": "sqlite:b.db"}
	got, err := load(t, file, env, "--grpc-listen", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	if got.GRPC.Listen != "127.0.0.1:3" || got.Log.Level != slog.LevelWarn {
		t.Errorf("listen %s, level %v", got.GRPC.Listen, got.Log.Level)
	}
	if s := got.Sources[0]; s.URL.value != "sqlite:b.db" || s.Sampling.MaxAge != 7*time.Second {
		t.Errorf("the environment's URL is laid over the file's source as %#v", s)
	}
}

func TestConfigFlagBeatsItsVariable(t *testing.T) {
	path := write(t, t.TempDir(), "other.yaml", "log: {format: json}")
	got, err := load(t, "log: {format: text}", nil, "--config", path)
	if err != nil || got.File != path || got.Log.Format != "json" {
		t.Errorf("got %s with %s, %v", got.File, got.Log.Format, err)
	}
}

// All faults come together, and in one order.
func TestAllFaultsAreReportedTogether(t *testing.T) {
	_, err := load(t, `
grpc: {listn: "0.0.0.0:1", tls: {certFile: tls.crt}}
sampling: {maxAge: 5}
sources:
  Mail: {url: "postgres://h/d", presett: river}
  bill: {}
tokens:
  - {id: A, sha256: short, scopes: [reed]}
log: loud
`, map[string]string{"LEADSMAN_LOG_FORMAT": "xml", "LEADSMAN_TOKEN": "short"}, "--grpc-listen", "nonsense", "--shutdown-timeout=-1s")
	var config *ConfigError
	if !errors.As(err, &config) {
		t.Fatalf("got %v", err)
	}
	want := []string{
		`grpc.listn: unknown key; did you mean "listen"?`,
		`log: must be a map, not text`,
		`sampling.maxAge: must be text, such as 30s for a duration or 2027-03-01 for a date, not a number`,
		`sources.Mail.presett: unknown key; did you mean "preset"?`,
		`LEADSMAN_TOKEN: is shorter than 16 bytes; make one with: leadsman token new --id env`,
		`--shutdown-timeout: -1s must be more than 0`,
		`LEADSMAN_LOG_FORMAT: "xml" is neither text nor json`,
		`sources.Mail: use lower-case letters, digits and inner dashes for a source's name, at most 63 characters`,
		`sources.bill.url: is missing; write url or urlFile`,
		`--grpc-listen: "nonsense" is no address; write host:port, such as 127.0.0.1:50051`,
		`grpc.tls.keyFile: is missing; TLS needs certFile and keyFile`,
		`tokens[0].id: "A" must be 1 to 32 lower-case letters, digits and dashes`,
		`tokens[0].sha256: must be 64 hexadecimal digits, the SHA-256 of the token, as leadsman token check prints it`,
		`tokens[0].scopes: unknown scope "reed"; did you mean "read"?`,
	}
	if diff := cmp.Diff(want, config.Faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	source := func(body string) string { return "sources: {mail: {" + body + "}}" }
	for name, tc := range map[string]struct{ yaml, want string }{
		"both URLs":               {source(`url: "postgres://h/d", urlFile: x`), "sources.mail.url: both url and urlFile are given; remove one"},
		"both listen URLs":        {source(`url: "postgres://h/d", listenURL: "postgres://h/d", listenURLFile: x`), "sources.mail.listenURL: both"},
		"unknown scheme":          {source(`url: "mysql://u:hunter2@h/d"`), "sources.mail.url: unknown scheme mysql:; begin it with one of postgres:, postgresql:, redis:,"},
		"no scheme":               {source(`url: "/hunter2/jobs.db"`), "sources.mail.url: has no scheme"},
		"password for a scheme":   {source(`url: "hunter2:x@h/d"`), "sources.mail.url: unknown scheme; begin"},
		"unknown preset":          {source(`url: "postgres://h/d", preset: rivr`), `sources.mail.preset: unknown preset "rivr"; did you mean "river"?`},
		"preset on other engine":  {source(`url: "sqlite:x", preset: pgonly`), "sources.mail.preset: pgonly does not run on sqlite"},
		"sql without query":       {source(`url: "sqlite:x", preset: sql`), "sources.mail.query: is missing"},
		"query beside a preset":   {source(`url: "sqlite:x", preset: river, query: select 1`), "sources.mail.query: preset river has a query of its own"},
		"listen beside a preset":  {source(`url: "postgres://h/d", listen: {channels: [x]}`), "sources.mail.listen: preset river knows its channels"},
		"listen without channels": {source(`url: "postgres://h/d", query: select 1, listen: {payload: x}`), "sources.mail.listen.channels: is empty"},
		"listening to SQLite":     {source(`url: "postgres://h/d", listenURL: "sqlite:x"`), "sources.mail.listenURL: only PostgreSQL"},
		"schema of a file":        {source(`url: "sqlite:x", schema: public`), "sources.mail.schema: means nothing to SQLite"},
		"no connections":          {source(`url: "postgres://h/d", maxConns: 0`), "sources.mail.maxConns: 0 is not within"},
		"fraction":                {source(`url: "postgres://h/d", maxConns: 1.5`), "sources.mail.maxConns: 1.5 is not a whole number"},
		"negative count":          {"sampling: {countLimit: -1}", "sampling.countLimit: -1 is negative"},
		"stale before due":        {source(`url: "sqlite:x", maxAge: 1m`), "sources.mail.staleAfter: 30s is shorter than maxAge, 1m0s"},
		"no duration":             {"sampling: {timeout: 5 minutes}", `sampling.timeout: "5 minutes" is no duration`},
		"number for text":         {source(`url: 5`), "sources.mail.url: must be text, not a number; put it into quotes"},
		"text for truth":          {`allowInsecure: "yes"`, "allowInsecure: must be true or false, not text"},
		"map for list":            {"tokens: {id: x}", "tokens: must be a list, not a map"},
		"empty item":              {"tokens: [null]", "tokens[0]: is empty"},
		"list for map":            {"[1, 2]", "config: must be a map, not a list"},
		"key in other case":       {"GRPC: {}", `GRPC: unknown key; did you mean "grpc"?`},
		"key far from all":        {source(`url: "sqlite:x", zzzzzz: 1`), "sources.mail.zzzzzz: unknown key; known are countLimit, group, keys, listen,"},
		"key twice":               {"log: {}\nlog: {}", `config: line 2: key "log" already set in map`},
		"no YAML":                 {"a: b: c", "config: mapping values are not allowed"},
		"port":                    {"grpc: {listen: '127.0.0.1:http'}", "grpc.listen: \"127.0.0.1:http\" has no port"},
		"TLS files":               {"grpc: {tls: {certFile: gone.crt, keyFile: gone.key}}", "gone.crt: no such file"},
		"client CA alone":         {"grpc: {tls: {clientCAFile: ca.crt}}", "grpc.tls.certFile: is missing"},
		"clients without a CA":    {"clients: [{san: x}]", "clients: have no effect without grpc.tls.clientCAFile"},
		"client without a name":   {"clients: [{id: x}]", "clients[0].san: is missing"},
		"client twice":            {"clients: [{san: x}, {san: x}]", "clients[1].san: is that of clients[0].san too"},
		"token for its hash":      {"tokens: [{id: x, sha256: ldm_x_hunter2}]", "tokens[0].sha256: is a token; write its SHA-256"},
		"token without hash":      {"tokens: [{id: x}]", "tokens[0].sha256: is missing"},
		"token id twice":          {"tokens: [{id: x, sha256: " + someSum + "}, {id: x, sha256: " + scaler.HashToken("y") + "}]", "tokens[1].id: is that of tokens[0].id too"},
		"hash twice":              {"tokens: [{id: x, sha256: " + someSum + "}, {id: y, sha256: " + strings.ToUpper(someSum) + "}]", "tokens[1].sha256: is that of tokens[0].sha256 too"},
		"token for no source":     {source(`url: "sqlite:x"`) + "\ntokens: [{id: x, sha256: " + someSum + ", sources: [mails]}]", `tokens[0].sources: there is no source "mails"; did you mean "mail"?`},
		"empty glob":              {"tokens: [{id: x, sha256: " + someSum + ", queues: ['']}]", "tokens[0].queues: holds an empty name"},
		"empty namespace":         {"tokens: [{id: x, sha256: " + someSum + ", namespaces: ['']}]", "tokens[0].namespaces: holds an empty name"},
		"no date":                 {"tokens: [{id: x, sha256: " + someSum + ", expires: soon}]", `tokens[0].expires: "soon" is no date`},
		"log level":               {"log: {level: loud}", `log.level: "loud" is none of`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.yaml, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
}

func TestMissingFileNamesTheFlagOrVariable(t *testing.T) {
	for want, flags := range map[string][]string{"LEADSMAN_CONFIG: open /nowhere/a": nil, "--config: open /nowhere/b": {"--config", "/nowhere/b"}} {
		if _, err := load(t, "", map[string]string{"LEADSMAN_CONFIG": "/nowhere/a"}, flags...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestBindGuard(t *testing.T) {
	token := map[string]string{"LEADSMAN_TOKEN": "0123456789abcdef"}
	for _, tc := range []struct {
		listen  string
		env     map[string]string
		flags   []string
		refused bool
	}{
		{listen: "127.0.0.1:1"},
		{listen: "127.8.8.8:1"},
		{listen: "[::1]:1"},
		{listen: "[::ffff:127.0.0.1]:1"},
		{listen: "localhost:1"},
		{listen: ":1", refused: true},
		{listen: "0.0.0.0:1", refused: true},
		{listen: "[::]:1", refused: true},
		{listen: "10.0.0.7:1", refused: true},
		{listen: "localhost.example:1", refused: true},
		{listen: "0.0.0.0:1", env: token},
		{listen: "0.0.0.0:1", flags: []string{"--allow-insecure"}},
		{listen: "0.0.0.0:1", flags: []string{"--allow-insecure=false"}, refused: true},
		{listen: "0.0.0.0:1", env: map[string]string{"LEADSMAN_ALLOW_INSECURE": "true"}},
		{listen: "0.0.0.0:1", env: map[string]string{"LEADSMAN_TOKEN": " "}, refused: true},
	} {
		_, err := load(t, "", tc.env, append([]string{"--grpc-listen", tc.listen}, tc.flags...)...)
		if refused := err != nil && strings.Contains(err.Error(), "can be reached from other machines"); refused != tc.refused || (err != nil) != refused {
			t.Errorf("%s %v %v: %v", tc.listen, tc.env, tc.flags, err)
		}
	}
}

func TestExpiredTokenIsAWarning(t *testing.T) {
	got, err := load(t, "tokens: [{id: old, sha256: "+someSum+", expires: 2020-01-01}]", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`tokens[0].expires: 2020-01-01T00:00:00Z ("old") is over; the credential is refused`}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestSecretFileIsReadAtEachUse(t *testing.T) {
	path := write(t, t.TempDir(), "url", "one\r\n")
	secret := Secret{file: path}
	for _, want := range []string{"one", " two "} {
		if want != "one" {
			write(t, filepath.Dir(path), "url", want+"\n")
		}
		if got, err := secret.Get(); err != nil || got != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	write(t, filepath.Dir(path), "url", "\n")
	if _, err := secret.Get(); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file gives %v", err)
	}
	write(t, filepath.Dir(path), "url", strings.Repeat("x", maxSecret+1))
	if _, err := secret.Get(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a huge file gives %v", err)
	}
}

// However a configuration is printed, its passwords stay out.
func TestSecretsAreRedacted(t *testing.T) {
	config, err := load(t, "sources: {mail: {url: 'postgres://u:hunter2@h/d', listenURL: 'postgres://u:hunter2@h/d'}}", nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("x", "config", config, "source", config.Sources[0], "url", config.Sources[0].URL)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{log.String(), string(raw), config.Sources[0].URL.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, config), fmt.Sprintf(verb, config.Sources), fmt.Sprintf(verb, config.Sources[0].URL), fmt.Sprintf(verb, &config.Sources[0].URL))
	}
	if at := slices.IndexFunc(shown, func(s string) bool { return strings.Contains(s, "hunter2") || strings.Contains(s, "68756e74657232") }); at >= 0 {
		t.Errorf("shown: %s", shown[at])
	}
}

// Whatever the file says, there is a configuration or a report, and what the report says fits one line a fault.
func FuzzConfigFile(f *testing.F) {
	f.Add(wholeFile)
	f.Add("grpc: {listen: 0.0.0.0:1}\nsources: {a: {url: 'postgres://u:hunter2@h/d', presett: x}}")
	f.Add("tokens: [{id: x, sha256: ldm_x_hunter2hunter2hunter2hunter2hunter2}]")
	f.Add("&a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		found, file := &faults{}, &fileConfig{}
		file.parse([]byte(text), found)
		file.GRPC.TLS, file.HTTP.TLS = fileTLS{}, fileTLS{} // no files are read here
		for name, source := range file.Sources {
			source.URLFile, source.ListenURLFile = "", ""
			file.Sources[name] = source
		}
		config, err := file.resolve("leadsman.yaml", inputs(nil), found)
		if err == nil {
			if config.GRPC.Listen == "" || config.Embedded != (len(config.Sources) == 0) || config.Sampling.Timeout <= 0 {
				t.Fatalf("incomplete: %+v", config)
			}
			if !loopback(config.GRPC.Listen) && len(config.Access.Tokens) == 0 && !config.Access.ClientCA && !file.AllowInsecure {
				t.Fatalf("the guard let %s through", config.GRPC.Listen)
			}
			if exposed := config.HTTP.Everybody || len(config.Access.Tokens) == 0; exposed && !loopback(config.HTTP.Listen) && !file.AllowInsecure {
				t.Fatalf("the guard let %+v through", config.HTTP)
			}
			return
		}
		var all *ConfigError
		if !errors.As(err, &all) || len(all.Faults) == 0 {
			t.Fatalf("not a report: %v", err)
		}
		for _, line := range all.Faults {
			if key, rest, ok := strings.Cut(line, ": "); !ok || key == "" || rest == "" || strings.Contains(line, "\n") {
				t.Fatalf("not a line: %q", line)
			}
		}
	})
}

// wholeFile uses each key there is, but for TLS and clients.
const wholeFile = `
grpc: {listen: "127.0.0.1:1234"}
http: {listen: "127.0.0.1:1235", auth: none}
allowInsecure: false
shutdownTimeout: 1m
sampling: {maxAge: 2s, staleAfter: 1m, countLimit: 5000, timeout: 1s}
sources:
  mail:
    urlFile: mail-url
    listenURLFile: mail-direct
    schema: public
    maxConns: 2
    pooler: true
    runningMaxAge: 1h
    countLimit: 0
  bill:
    url: host=db user=app password=hunter2
    query: select 1
    listen: {channels: [jobs], payload: queue, echo: [100ms, 1s]}
    maxAge: 5s
  file: {url: "SQLite:jobs.db", preset: river}
tokens:
  - id: keda-mail
    sha256: ` + someSum + `
    scopes: [read]
    sources: [mail]
    queues: ["mail-*"]
    namespaces: [team-mail]
    expires: 2999-03-01
  - {id: ops, sha256: 2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881, expires: "2999-03-01T12:00:00+02:00"}
log: {level: warn, format: json}
`
