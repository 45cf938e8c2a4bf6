package redis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/redis"
)

func TestURLsSayWhereTheServerIs(t *testing.T) {
	for url, want := range map[string]struct {
		redis.Target

		location string
	}{
		"redis://":                            {redis.Target{Addresses: []string{"localhost:6379"}}, "localhost:6379/0"},
		"redis://cache":                       {redis.Target{Addresses: []string{"cache:6379"}}, "cache:6379/0"},
		"rediss://cache:1/3":                  {redis.Target{Addresses: []string{"cache:1"}, DB: 3}, "cache:1/3"},
		"valkey://cache":                      {redis.Target{Addresses: []string{"cache:6379"}}, "cache:6379/0"},
		"REDIS://:p%40ss@cache/":              {redis.Target{Addresses: []string{"cache:6379"}, Password: "p@ss"}, "cache:6379/0"},
		"redis://u:p@x@cache":                 {redis.Target{Addresses: []string{"cache:6379"}, Username: "u", Password: "p@x"}, "cache:6379/0"},
		"redis://[::1]:7000/2":                {redis.Target{Addresses: []string{"[::1]:7000"}, DB: 2}, "[::1]:7000/2"},
		"redis+cluster://u:p@a,b:7001,[::1]":  {redis.Target{Addresses: []string{"a:6379", "b:7001", "[::1]:6379"}, Username: "u", Password: "p"}, "a:6379,b:7001,[::1]:6379"},
		"rediss+sentinel://:p@s1,s2:1/main/4": {redis.Target{Addresses: []string{"s1:26379", "s2:1"}, Master: "main", Password: "p", DB: 4}, "s1:26379,s2:1/main/4"},
		"redis://h?protocol=2":                {redis.Target{Addresses: []string{"h:6379"}}, "h:6379/0"},
	} {
		got, err := redis.ParseURL(url)
		if diff := cmp.Diff(want.Target, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", url, err, diff)
		}
		if got := redis.Location(url); got != want.location {
			t.Errorf("%s: location = %q, want %q", url, got, want.location)
		}
	}
}

func TestURLsThatAreWrongSayWhatIs(t *testing.T) {
	for url, want := range map[string]string{
		"":                                      "none of Redis",
		"hunter2":                               "none of Redis",
		"postgres://h":                          "none of Redis",
		"redis:hunter2@h":                       "none of Redis",
		"redis://a,b":                           "several hosts",
		"redis://h/hunter2":                     "no number of a database",
		"redis://h/-1":                          "no number of a database",
		"redis+cluster://h/2":                   "database 0 only",
		"redis+sentinel://h":                    "does not name the master",
		"redis+sentinel://h/main/x":             "no number of a database",
		"redis://h:hunter2":                     "the URL cannot be read",
		"redis://::1":                           "a host of the URL cannot be read",
		"redis://u:%zzhunter2@h":                "cannot be read",
		"redis://h?hunter=2":                    `"hunter" is not known`,
		"redis://h?protocol=4":                  "neither 2 nor 3",
		"redis://h?serverName=x":                "begin it with rediss",
		"rediss://h?certFile=hunter2.crt":       "takes both",
		"rediss://h?caFile=/does/not/exist":     "caFile: open /does/not/exist",
		"rediss://h?certFile=/no&keyFile=/none": "the client certificate",
	} {
		err := redis.CheckURL(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: shows a part that may be a password: %v", url, err)
		}
		if got := redis.Secrets(url); len(got) == 0 || got[0] != url {
			t.Errorf("%s: secrets = %q", url, got)
		}
	}
}

func TestSecretsAreWhatIsNotToBeShown(t *testing.T) {
	got := redis.Secrets("redis+sentinel://u:p%40ss@h/main?sentinelPassword=s3cret")
	for _, want := range []string{"p@ss", "p%40ss", "s3cret"} {
		if !slices.Contains(got, want) {
			t.Errorf("secrets = %q, want %q among them", got, want)
		}
	}
}
