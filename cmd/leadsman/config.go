package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
)

// Config is what a server needs to know, complete and checked.
type Config struct {
	// File is the configuration file, absolute; "" when there is none.
	File string
	GRPC GRPCConfig
	HTTP HTTPConfig
	// ShutdownTimeout is how long open calls may take to end.
	ShutdownTimeout time.Duration
	Log             LogConfig
	// Access is who may do what. It is the part that may change while the server runs.
	Access scaler.Access
	// Sources are ordered by name. With none of them configured, Embedded is set and the caller makes one.
	Sources  []SourceConfig
	Embedded bool
	// Sampling is for sources that say nothing else, the embedded one among them.
	Sampling SamplingConfig
	// Warnings are for people: what works and is hardly meant.
	Warnings []string
}

// GRPCConfig is where and how gRPC is served.
type GRPCConfig struct {
	Listen string // host:port
	// TLS is nil for plaintext.
	TLS *scaler.Files
}

// HTTPConfig is where and how HTTP is served.
type HTTPConfig struct {
	Listen string // host:port; "" for not at all
	// TLS is nil for plaintext.
	TLS *scaler.Files
	// Everybody is let in, whatever the access rules say.
	Everybody bool
}

// LogConfig is what is logged, and how.
type LogConfig struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// SamplingConfig is how a source is read.
type SamplingConfig struct {
	MaxAge     time.Duration // answers may be this old
	StaleAfter time.Duration // while the source cannot be read, the last answer serves this long
	CountLimit int64         // bound of each count; 0 counts exactly, however long it takes
	Timeout    time.Duration // of one read
	Resync     time.Duration // open streams look this often without a signal
}

// Inputs is where the configuration comes from.
type Inputs struct {
	// Flags are those that AddFlags made; nil when there are none. Only flags that were given count.
	Flags *pflag.FlagSet
	// Getenv is os.Getenv. An empty variable counts as one that is not set.
	Getenv func(string) string
	// Presets are the job libraries there are.
	Presets map[string]driver.Preset
}

// What is printed and logged comes as one of these.
const (
	formatText = "text"
	formatJSON = "json"
)

// Defaults of the server.
const (
	defaultListen          = "127.0.0.1:50051"
	defaultHTTPListen      = "127.0.0.1:8080"
	defaultShutdownTimeout = 10 * time.Second
	defaultPreset          = "river"
	defaultSource          = "default" // the source that the environment alone makes, and the embedded one
)

var defaultSampling = SamplingConfig{
	MaxAge: time.Second, StaleAfter: 30 * time.Second, CountLimit: 100_000, Timeout: 2 * time.Second,
	Resync: 10 * time.Second,
}

// Load reads the configuration: flags before environment (LEADSMAN_…) before the YAML file before defaults. The
// error is a *ConfigError with every fault that there is.
func Load(in Inputs) (Config, error) {
	found := &faults{}
	path, file := in.readFile(found)
	file.applyEnvironment(in.Getenv, found)
	file.applyFlags(in.Flags, found)
	return file.resolve(path, in, found)
}

// resolve checks what the layers came to and fills in the defaults.
func (f *fileConfig) resolve(path string, in Inputs, found *faults) (Config, error) {
	c := Config{File: path, ShutdownTimeout: defaultShutdownTimeout, Sampling: f.Sampling.over(defaultSampling, "sampling", found)}
	if f.ShutdownTimeout != nil {
		c.ShutdownTimeout = positive(*f.ShutdownTimeout, "shutdownTimeout", found)
	}
	dir := filepath.Dir(path) // "." without a file
	c.Log = f.Log.resolve(found)
	c.Sources = f.resolveSources(dir, c.Sampling, in.Presets, found)
	c.Embedded = len(f.Sources) == 0
	c.GRPC = f.GRPC.resolve(dir, found)
	c.HTTP = f.HTTP.resolve(dir, found)
	c.Access = f.resolveAccess(found)
	f.guard(c.GRPC, found)
	f.guardHTTP(&c.HTTP, found)
	c.Warnings = found.warnings
	if err := found.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// readFile finds and parses the YAML file, if one is named.
func (in Inputs) readFile(found *faults) (path string, _ *fileConfig) {
	key := "LEADSMAN_CONFIG"
	path = in.Getenv(key)
	if in.Flags != nil {
		if flag := in.Flags.Lookup("config"); flag != nil && flag.Changed {
			key, path = "--config", flag.Value.String()
		}
	}
	file := &fileConfig{}
	if path == "" {
		return "", file
	}
	path, err := filepath.Abs(path)
	if err != nil {
		found.addf(key, "%v", err)
		return path, file
	}
	data, err := os.ReadFile(path)
	if err != nil {
		found.addf(key, "%v", err)
		return path, file
	}
	file.parse(data, found)
	return path, file
}

// resolve checks the logging part.
func (f fileLog) resolve(found *faults) LogConfig {
	c := LogConfig{Format: formatText}
	switch level := f.Level; level {
	case "", "info":
	case "debug":
		c.Level = slog.LevelDebug
	case "warn":
		c.Level = slog.LevelWarn
	case "error":
		c.Level = slog.LevelError
	default:
		found.addf("log.level", "%q is none of debug, info, warn, error", level)
	}
	switch f.Format {
	case "":
	case formatText, formatJSON:
		c.Format = f.Format
	default:
		found.addf("log.format", "%q is neither text nor json", f.Format)
	}
	return c
}

// over puts what f says over base; key is where f is in the file.
func (f fileSampling) over(base SamplingConfig, key string, found *faults) SamplingConfig {
	for _, field := range []struct {
		name string
		from *duration
		to   *time.Duration
	}{
		{"maxAge", f.MaxAge, &base.MaxAge},
		{"staleAfter", f.StaleAfter, &base.StaleAfter},
		{"timeout", f.Timeout, &base.Timeout},
		{"resync", f.Resync, &base.Resync},
	} {
		if field.from != nil {
			*field.to = positive(*field.from, key+"."+field.name, found)
		}
	}
	if f.CountLimit != nil {
		base.CountLimit = *f.CountLimit
	}
	if base.CountLimit < 0 {
		found.addf(key+".countLimit", "%d is negative; write 0 for exact counts", base.CountLimit)
	}
	if base.StaleAfter < base.MaxAge {
		found.addf(key+".staleAfter", "%v is shorter than maxAge, %v; an answer cannot be too old before it is due again",
			base.StaleAfter, base.MaxAge)
	}
	return base
}

// positive returns d if it is more than nothing.
func positive(d duration, key string, found *faults) time.Duration {
	if d <= 0 {
		found.addf(key, "%v must be more than 0", time.Duration(d))
	}
	return time.Duration(d)
}

// from returns path as seen from the configuration file's folder.
func from(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// String shows where the configuration came from, and nothing secret.
func (c Config) String() string {
	file := c.File
	if file == "" {
		file = "no file"
	}
	return fmt.Sprintf("%s, %d sources, %d tokens", file, len(c.Sources), len(c.Access.Tokens))
}
