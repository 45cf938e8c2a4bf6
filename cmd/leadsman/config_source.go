package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// SourceConfig is one source. What a nil or zero field leaves open is the engine's or the preset's to say.
type SourceConfig struct {
	Name   string
	Engine string // "postgres", "redis" or "sqlite"
	URL    Secret
	// ListenURL is a second way to the same database for notifications, past a pooler. Zero means URL.
	ListenURL Secret
	Preset    string
	Schema    string
	Query     string // with preset sql
	Listen    *driver.Listen
	MaxConns  int
	// Pooler is set when URL leads to a transaction pooler, which keeps no session.
	Pooler        bool
	RunningMaxAge time.Duration
	Redis         driver.RedisOptions
	Sampling      SamplingConfig
}

// The engines, and what of a source's keys is theirs alone.
const (
	enginePostgres = "postgres"
	engineRedis    = "redis"
	engineSQLite   = "sqlite"
)

// schemes says which engine reads a URL.
var schemes = map[string]string{
	"postgres":        enginePostgres,
	"postgresql":      enginePostgres,
	"redis":           engineRedis,
	"redis+cluster":   engineRedis,
	"redis+sentinel":  engineRedis,
	"rediss":          engineRedis,
	"rediss+cluster":  engineRedis,
	"rediss+sentinel": engineRedis,
	"sqlite":          engineSQLite,
	"valkey":          engineRedis,
	"valkeys":         engineRedis,
}

// presetSQL is the preset whose query comes with the source.
const presetSQL = "sql"

var (
	urlScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)
	// dsnForm is PostgreSQL's other way to write a connection: host=db user=app.
	dsnForm = regexp.MustCompile(`^\s*[a-z_]+\s*=`)
)

func (f *fileConfig) resolveSources(dir string, base SamplingConfig, presets map[string]driver.Preset, found *faults) []SourceConfig {
	out := make([]SourceConfig, 0, len(f.Sources))
	for _, name := range slices.Sorted(maps.Keys(f.Sources)) {
		key := join("sources", name)
		if !storage.ValidName(name) {
			found.addf(key, "use lower-case letters, digits and inner dashes for a source's name, at most 63 characters")
		}
		source := f.Sources[name]
		c := source.resolve(dir, key, presets, found)
		c.Name = name
		c.Sampling = source.over(base, key, found)
		out = append(out, c)
	}
	return out
}

// resolve checks one source but for its name and sampling.
func (s fileSource) resolve(dir, key string, presets map[string]driver.Preset, found *faults) SourceConfig {
	c := SourceConfig{Preset: s.Preset, Schema: s.Schema, Query: s.Query, Pooler: s.Pooler}
	c.URL, c.Engine = s.resolveURL(dir, key, found)
	c.ListenURL = s.resolveListenURL(dir, key, found)
	switch {
	case c.Preset != "":
	case s.Query != "":
		c.Preset = presetSQL
	case c.Engine == engineRedis:
		found.addf(key+".preset", "is missing; name the job library, such as sidekiq or bullmq, or write redis for keys of your own")
		return c
	default:
		c.Preset = defaultPreset
	}
	s.checkPreset(key, c, presets, found)
	if s.MaxConns != nil {
		if *s.MaxConns < 1 || *s.MaxConns > 1000 {
			found.addf(key+".maxConns", "%d is not within 1 and 1000", *s.MaxConns)
		}
		c.MaxConns = int(*s.MaxConns)
	}
	if s.RunningMaxAge != nil {
		c.RunningMaxAge = positive(*s.RunningMaxAge, key+".runningMaxAge", found)
	}
	if s.Listen != nil {
		c.Listen = s.Listen.resolve(key+".listen", found)
	}
	c.Redis = s.options(key, c.Preset, presets[c.Preset].Redis, found)
	switch c.Engine {
	case engineSQLite:
		s.checkSQLite(key, found)
	case engineRedis:
		s.checkRedis(key, &c, presets[c.Preset].Redis, found)
	}
	return c
}

// resolveURL finds the engine by the URL. A URL from a file is read for that, so that one that is missing or
// wrong shows at start.
func (s fileSource) resolveURL(dir, key string, found *faults) (_ Secret, engine string) {
	url, err := secretOf(dir, s.URL, s.URLFile)
	switch {
	case err != nil:
		found.addf(key+".url", "both url and urlFile are given; remove one")
		return url, ""
	case url.IsZero():
		found.addf(key+".url", "is missing; write url or urlFile")
		return url, ""
	case url.file != "":
		key += ".urlFile"
	default:
		key += ".url"
	}
	return url, engineOf(url, key, found)
}

func (s fileSource) resolveListenURL(dir, key string, found *faults) Secret {
	url, err := secretOf(dir, s.ListenURL, s.ListenURLFile)
	switch {
	case err != nil:
		found.addf(key+".listenURL", "both listenURL and listenURLFile are given; remove one")
		return url
	case url.IsZero():
		return url
	case url.file != "":
		key += ".listenURLFile"
	default:
		key += ".listenURL"
	}
	if engine := engineOf(url, key, found); engine != "" && engine != enginePostgres {
		found.addf(key, "only PostgreSQL can be listened to; remove it")
	}
	return url
}

// engineOf tells the engine by the URL's scheme. Nothing else of the URL is ever shown: it may hold a password.
func engineOf(url Secret, key string, found *faults) string {
	text, err := url.Get()
	if err != nil {
		found.addf(key, "%v", err)
		return ""
	}
	scheme := urlScheme.FindStringSubmatch(text)
	if scheme == nil {
		if dsnForm.MatchString(text) {
			return enginePostgres
		}
		found.addf(key, "has no scheme; begin it with one of %s", knownSchemes())
		return ""
	}
	engine, ok := schemes[strings.ToLower(scheme[1])]
	switch {
	case ok:
	case strings.HasPrefix(text[len(scheme[0]):], "//"):
		found.addf(key, "unknown scheme %s:; begin it with one of %s", scheme[1], knownSchemes())
	default:
		// user:password@host looks like a scheme too, so it is not repeated.
		found.addf(key, "unknown scheme; begin it with one of %s", knownSchemes())
	}
	return engine
}

func knownSchemes() string {
	return strings.Join(slices.Sorted(maps.Keys(schemes)), ":, ") + ":"
}

// checkPreset holds preset and query against each other and the engine.
func (s fileSource) checkPreset(key string, c SourceConfig, presets map[string]driver.Preset, found *faults) {
	preset, ok := presets[c.Preset]
	switch {
	case !ok:
		found.addf(key+".preset", "unknown preset %q; %s", c.Preset, meant(c.Preset, slices.Collect(maps.Keys(presets))))
		return
	case c.Preset == presetSQL:
		if s.Query == "" {
			found.addf(key+".query", "is missing; preset sql reads by a query of yours")
		}
		return
	case s.Query != "":
		found.addf(key+".query", "preset %s has a query of its own; remove query, or write preset: sql", c.Preset)
	case s.Listen != nil:
		found.addf(key+".listen", "preset %s knows its channels; remove listen, or write preset: sql", c.Preset)
	}
	if c.Engine != "" && !runsOn(preset, c.Engine) {
		found.addf(key+".preset", "%s does not run on %s", c.Preset, c.Engine)
	}
}

func runsOn(preset driver.Preset, engine string) bool {
	switch engine {
	case enginePostgres:
		return preset.Postgres != nil
	case engineRedis:
		return preset.Redis != nil
	default:
		return preset.SQLite != nil
	}
}

// checkSQLite refuses what means nothing to a file.
func (s fileSource) checkSQLite(key string, found *faults) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"schema", s.Schema != ""}, {"listen", s.Listen != nil}, {"pooler", s.Pooler}, {"maxConns", s.MaxConns != nil},
	} {
		if field.set {
			found.addf(key+"."+field.name, "means nothing to SQLite; remove it")
		}
	}
}

func (l *fileListen) resolve(key string, found *faults) *driver.Listen {
	out := &driver.Listen{Channels: l.Channels, Payload: l.Payload}
	if len(l.Channels) == 0 {
		found.addf(key+".channels", "is empty; name the channels of NOTIFY")
	}
	if slices.Contains(l.Channels, "") {
		found.addf(key+".channels", "holds an empty name")
	}
	if out.Payload == "" {
		out.Payload = driver.PayloadNone
	}
	for _, d := range l.Echo {
		out.Echo = append(out.Echo, positive(d, key+".echo", found))
	}
	return out
}
