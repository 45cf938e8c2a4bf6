package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// fileConfig is the YAML file, key by key. The environment and the flags are laid over it. Pointers tell what is
// not set from zero.
type fileConfig struct {
	GRPC            fileGRPC              `yaml:"grpc"`
	HTTP            fileHTTP              `yaml:"http"`
	AllowInsecure   bool                  `yaml:"allowInsecure"`
	ShutdownTimeout *duration             `yaml:"shutdownTimeout"`
	Sampling        fileSampling          `yaml:"sampling"`
	Sources         map[string]fileSource `yaml:"sources"`
	Tokens          []fileToken           `yaml:"tokens"`
	Clients         []fileClient          `yaml:"clients"`
	Log             fileLog               `yaml:"log"`
}

type fileGRPC struct {
	Listen string  `yaml:"listen"`
	TLS    fileTLS `yaml:"tls"`
}

type fileHTTP struct {
	Listen *string `yaml:"listen"`
	Auth   string  `yaml:"auth"`
	TLS    fileTLS `yaml:"tls"`
}

type fileTLS struct {
	CertFile     string `yaml:"certFile"`
	KeyFile      string `yaml:"keyFile"`
	ClientCAFile string `yaml:"clientCAFile"`
}

type fileSampling struct {
	MaxAge     *duration `yaml:"maxAge"`
	StaleAfter *duration `yaml:"staleAfter"`
	CountLimit *int64    `yaml:"countLimit"`
	Timeout    *duration `yaml:"timeout"`
	Resync     *duration `yaml:"resync"`
}

type fileSource struct {
	fileSampling `yaml:",inline"`
	fileRedis    `yaml:",inline"`

	URL           string      `yaml:"url"`
	URLFile       string      `yaml:"urlFile"`
	ListenURL     string      `yaml:"listenURL"`
	ListenURLFile string      `yaml:"listenURLFile"`
	Preset        string      `yaml:"preset"`
	Schema        string      `yaml:"schema"`
	Query         string      `yaml:"query"`
	Listen        *fileListen `yaml:"listen"`
	MaxConns      *int64      `yaml:"maxConns"`
	Pooler        bool        `yaml:"pooler"`
	RunningMaxAge *duration   `yaml:"runningMaxAge"`
}

type fileListen struct {
	Channels []string   `yaml:"channels"`
	Payload  string     `yaml:"payload"`
	Echo     []duration `yaml:"echo"`
}

type fileGrant struct {
	ID         string   `yaml:"id"`
	Scopes     []string `yaml:"scopes"`
	Sources    []string `yaml:"sources"`
	Queues     []string `yaml:"queues"`
	Namespaces []string `yaml:"namespaces"`
	Expires    date     `yaml:"expires"`
}

type fileToken struct {
	fileGrant `yaml:",inline"`

	SHA256 string `yaml:"sha256"`
}

type fileClient struct {
	fileGrant `yaml:",inline"`

	SAN string `yaml:"san"`
}

type fileLog struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// A scalar is read from text by a form of its own.
type scalar interface {
	parse(text string) error
}

// duration is written as in Go: 30s, 1m30s.
type duration time.Duration

func (d *duration) parse(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration; write one such as 30s or 1m30s", text)
	}
	*d = duration(v)
	return nil
}

// date is a day, at whose beginning in UTC it lies, or an instant by RFC 3339.
type date struct{ time.Time }

func (d *date) parse(text string) (err error) {
	if d.Time, err = time.Parse(time.DateOnly, text); err == nil {
		return nil
	}
	if d.Time, err = time.Parse(time.RFC3339, text); err == nil {
		return nil
	}
	d.Time = time.Time{}
	return fmt.Errorf("%q is no date; write one such as 2027-03-01 or 2027-03-01T12:00:00Z", text)
}

// parse reads a YAML file into f. It goes on after a fault, to find them all.
func (f *fileConfig) parse(data []byte, found *faults) {
	raw, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
		found.addf("config", "%s", strings.Join(strings.Fields(text), " "))
		return
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil && err != io.EOF {
		found.addf("config", "%v", err)
		return
	}
	(&fileDecoder{found}).decode("", tree, reflect.ValueOf(f).Elem())
}
