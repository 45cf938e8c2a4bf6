package main

import (
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
)

// fileRedis is what a source in Redis may say of its library's keys.
type fileRedis struct {
	Prefix        string         `yaml:"prefix"`
	Queues        []string       `yaml:"queues"`
	PrioritySteps []int64        `yaml:"prioritySteps"`
	Separator     string         `yaml:"separator"`
	Group         string         `yaml:"group"`
	Keys          []fileRedisKey `yaml:"keys"`
}

type fileRedisKey struct {
	Key   string `yaml:"key"`
	Type  string `yaml:"type"`
	State string `yaml:"state"`
	Unit  string `yaml:"unit"`
}

// A redisField is a key of fileRedis.
type redisField struct {
	name   string
	set    bool
	option driver.RedisOption
}

func (r *fileRedis) fields() []redisField {
	return []redisField{
		{"prefix", r.Prefix != "", driver.RedisPrefix},
		{"queues", r.Queues != nil, driver.RedisQueues},
		{"prioritySteps", r.PrioritySteps != nil, driver.RedisPriorities},
		{"separator", r.Separator != "", driver.RedisPriorities},
		{"group", r.Group != "", driver.RedisGroup},
		{"keys", r.Keys != nil, driver.RedisKeys},
	}
}

// options checks the keys against the preset and returns what they say. preset is nil where the engine is another.
func (r *fileRedis) options(key, name string, preset *driver.Redis, found *faults) driver.RedisOptions {
	for _, field := range r.fields() {
		switch {
		case !field.set:
		case preset == nil:
			found.addf(key+"."+field.name, "means something to Redis only; remove it")
		case preset.Options&field.option == 0:
			found.addf(key+"."+field.name, "means nothing to preset %s; remove it", name)
		}
	}
	out := driver.RedisOptions{Prefix: r.Prefix, Queues: r.Queues, Separator: r.Separator, Group: r.Group}
	for _, step := range r.PrioritySteps {
		out.PrioritySteps = append(out.PrioritySteps, int(step))
	}
	for _, k := range r.Keys {
		out.Keys = append(out.Keys, driver.RedisKey(k))
	}
	return out
}

// checkRedis refuses what means nothing to Redis, and a URL or options that cannot be.
func (s fileSource) checkRedis(key string, c *SourceConfig, preset *driver.Redis, found *faults) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"schema", s.Schema != ""},
		{"query", s.Query != ""},
		{"listen", s.Listen != nil},
		{"pooler", s.Pooler},
		{"maxConns", s.MaxConns != nil},
		{"listenURL", s.ListenURL != ""},
		{"listenURLFile", s.ListenURLFile != ""},
	} {
		if field.set {
			found.addf(key+"."+field.name, "means nothing to Redis; remove it")
		}
	}
	if text, err := c.URL.Get(); err == nil {
		if err := redis.CheckURL(text); err != nil {
			found.addf(key+".url", "%v", err)
		}
	}
	if preset == nil || preset.Check == nil {
		return
	}
	if err := preset.Check(&c.Redis); err != nil {
		name, text, ok := strings.Cut(err.Error(), ": ")
		if !ok {
			name, text = "preset", err.Error()
		}
		found.addf(key+"."+name, "%s", text)
	}
}
