package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
)

// redisInputs knows presets that run on Redis.
func redisInputs(t *testing.T, yaml string) (Config, error) {
	t.Helper()
	in := inputs(map[string]string{"LEADSMAN_CONFIG": write(t, t.TempDir(), "leadsman.yaml", yaml)})
	in.Presets["celery"] = driver.Preset{Name: "celery", Redis: &driver.Redis{
		Options: driver.RedisPrefix | driver.RedisPriorities,
		Check: func(o *driver.RedisOptions) error {
			if len(o.PrioritySteps) > 0 && o.PrioritySteps[0] != 0 {
				return errors.New("prioritySteps: the first one is always 0")
			}
			return nil
		},
	}}
	in.Presets["redis"] = driver.Preset{Name: "redis", Redis: &driver.Redis{Options: driver.RedisKeys}}
	return Load(in)
}

func TestRedisSourcesSayHowTheirKeysAreLaidOut(t *testing.T) {
	got, err := redisInputs(t, `
sources:
  celery: {url: "redis://cache:6379/1", preset: celery, prefix: "app:", prioritySteps: [0, 3], separator: "\x06"}
  own:    {url: "rediss+sentinel://s1,s2/main", preset: redis, keys: [{key: "jobs:{queue}", type: list, state: ready}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	celery, own := got.Sources[0], got.Sources[1]
	if celery.Engine != engineRedis || own.Engine != engineRedis {
		t.Errorf("engines = %s, %s, want redis", celery.Engine, own.Engine)
	}
	want := driver.RedisOptions{Prefix: "app:", PrioritySteps: []int{0, 3}, Separator: "\x06"}
	if diff := cmp.Diff(want, celery.Redis); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = driver.RedisOptions{Keys: []driver.RedisKey{{Key: "jobs:{queue}", Type: "list", State: "ready"}}}
	if diff := cmp.Diff(want, own.Redis); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRedisSourcesRefuseWhatCannotBe(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"no preset":            {`{url: "redis://h"}`, "sources.a.preset: is missing; name the job library"},
		"a SQL preset":         {`{url: "redis://h", preset: river}`, "sources.a.preset: river does not run on redis"},
		"a Redis preset":       {`{url: "postgres://h/d", preset: celery}`, "sources.a.preset: celery does not run on postgres"},
		"a key of SQL":         {`{url: "redis://h", preset: celery, schema: x}`, "sources.a.schema: means nothing to Redis; remove it"},
		"a key of Redis":       {`{url: "postgres://h/d", preset: river, prefix: x}`, "sources.a.prefix: means something to Redis only; remove it"},
		"another preset's key": {`{url: "redis://h", preset: celery, group: x}`, "sources.a.group: means nothing to preset celery; remove it"},
		"the preset's check":   {`{url: "redis://h", preset: celery, prioritySteps: [3]}`, "sources.a.prioritySteps: the first one is always 0"},
		"many hosts":           {`{url: "redis://a,b", preset: celery}`, "sources.a.url: the URL names several hosts"},
		// Case 40.
		"a cluster's database": {`{url: "redis+cluster://h/2", preset: celery}`, "sources.a.url: a cluster has database 0 only"},
		"a secret in a URL":    {`{url: "redis://:hunter2@h:bad", preset: celery}`, "sources.a.url: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := redisInputs(t, "sources: {a: "+test.source+"}")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password shows: %v", err)
			}
		})
	}
}
