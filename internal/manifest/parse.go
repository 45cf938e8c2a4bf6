package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A File is a text with specs, and what it is called in faults.
type File struct {
	Name string
	Data []byte
}

// Parse reads specs, of which a file may hold several as YAML documents. An error is an [*Error] with all that is
// wrong; the specs are then nil.
func Parse(files ...File) ([]Spec, error) {
	found := &faults{}
	specs := make([]Spec, 0, len(files))
	for _, file := range files {
		found.file = file.Name
		specs = append(specs, found.documents(file.Data)...)
	}
	if len(specs) == 0 && len(found.found) == 0 {
		found.addf(1, "", "there is no spec; leadsman manifest --help shows one")
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	found.rivals(specs)
	if err := found.err(); err != nil {
		return nil, err
	}
	return specs, nil
}

// documents reads the specs of one file.
func (f *faults) documents(data []byte) []Spec {
	var specs []Spec
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return specs
		}
		if err != nil {
			f.syntax(err)
			return nil
		}
		root := resolve(document.Content[0])
		if root.Tag == "!!null" {
			continue // such as a comment between two ---
		}
		specs = append(specs, f.spec(root))
	}
}

// yamlLine is how the parser says where it stopped.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntax reports what is no YAML.
func (f *faults) syntax(err error) {
	text, line := err.Error(), 1
	if at := yamlLine.FindStringSubmatch(text); at != nil {
		text = strings.TrimPrefix(text, at[0])
		if n, err := strconv.Atoi(at[1]); err == nil {
			line = n
		}
	}
	f.addf(line, "", "not YAML: %s", text)
}

// rivals reports specs that would fight: one worker has one autoscaler, and one name is one object.
func (f *faults) rivals(specs []Spec) {
	workers, names := map[string]int{}, map[string]int{}
	for i := range specs {
		s := &specs[i]
		name := s.Namespace + "/" + s.Name
		if first, taken := names[name]; taken {
			f.rivalf(s, "name: %s is that of the spec at %s too; give this one a name of its own", s.Name, &specs[first])
			continue
		}
		names[name] = i
		if s.Mode == ModeScaledJob {
			continue
		}
		worker := s.Namespace + "/" + s.Worker.Kind + "/" + s.Worker.Name
		if first, taken := workers[worker]; taken {
			f.rivalf(s, "worker: %s has an autoscaler already, by the spec at %s, and two would undo each other's work; "+
				"name several queues in one spec", s.Worker.Name, &specs[first])
			continue
		}
		workers[worker] = i
	}
}

// rivalf reports what a spec has in common with another. The format takes the name and the place of the other.
func (f *faults) rivalf(s *Spec, format, name string, other *Spec) {
	f.found = append(f.found, fault{s.at, fmt.Sprintf(format, quote(name), other.at)})
}

// Bounds of values.
const (
	maxReplicas  = 100_000
	maxNumber    = 9e15 // the greatest value that leadsman tells
	minTarget    = 0.001
	maxWait      = 24 * time.Hour
	maxWindow    = time.Hour // Kubernetes takes no longer stabilizationWindowSeconds
	maxFailures  = 1000
	maxPercent   = 1000
	maxQueueList = 100
)

// spec reads one document.
func (f *faults) spec(root *yaml.Node) Spec {
	before := len(f.found)
	r := f.read("", root)
	s := Spec{at: place{f.file, root.Line}, Mode: Mode(r.oneOf("mode", modes()))}
	s.Name = r.name("name")
	s.Namespace = r.name("namespace")
	s.Worker = r.worker("worker")
	s.value(r)
	s.replicas(r)
	s.times(r)
	s.access(r)
	r.done()
	if len(f.found) == before { // else what is missing may be what is misspelled
		asked := s
		s.complete()
		s.check(r, &asked)
	}
	return s
}

// value reads what is asked.
func (s *Spec) value(r *reader) {
	s.Source = r.text("source")
	s.Queue = r.queue("queue")
	s.Metric = r.oneOf("metric", metrics())
	s.Target = r.number("target", minTarget, maxNumber)
	s.Activation = r.number("activation", 0, maxNumber)
	s.ActiveWhileRunning = r.boolean("activeWhileRunning")
	_, s.Linger = r.duration("linger", maxWait)
	_, s.Lookahead = r.duration("lookahead", maxWait)
}

// replicas reads how many there may be, and what decides on them besides the queue.
func (s *Spec) replicas(r *reader) {
	s.Min, s.minGiven = r.count("min", 0, maxReplicas)
	s.Max, _ = r.count("max", 1, maxReplicas)
	_, s.IdleToZero = r.count("idle", 0, 0)
	s.Strategy = r.oneOf("strategy", strategies())
	s.CPU, _ = r.count("cpu", 1, maxPercent)
	s.Memory, _ = r.count("memory", 1, maxPercent)
	s.Cron = r.crons("cron")
	s.Fallback = r.fallback("fallback")
}

// times reads how soon.
func (s *Spec) times(r *reader) {
	var given bool
	if s.Poll, given = r.wholeSeconds("poll", maxWait); given && s.Poll == 0 {
		r.faultf("poll", "must be 1s or more")
	}
	s.Cooldown, s.cooldownGiven = r.wholeSeconds("cooldown", maxWait)
	if !s.cooldownGiven {
		s.Cooldown = defaultCooldown
	}
	if s.Stabilization, given = r.wholeSeconds("stabilization", maxWindow); !given {
		s.Stabilization = defaultStabilization
	}
}

// Defaults of Kubernetes and KEDA, which are good ones.
const (
	defaultCooldown      = 5 * time.Minute
	defaultStabilization = 5 * time.Minute
)

// access reads where leadsman and Prometheus are, and what opens them.
func (s *Spec) access(r *reader) {
	if n := r.get("tokenFrom"); n != nil {
		in := r.faults.read(r.at("tokenFrom")+".", n)
		s.TokenFrom = TokenFrom{Env: in.text("env"), Secret: in.name("secret"), Key: in.text("key")}
		in.done()
		if s.TokenFrom.Secret != "" && s.TokenFrom.Key == "" {
			s.TokenFrom.Key = "token"
		}
		if n.Kind == yaml.MappingNode && (s.TokenFrom.Env == "") == (s.TokenFrom.Secret == "") {
			r.faultf("tokenFrom", "give either env, a variable of the worker, or secret (and key, which is token unless given)")
		}
	}
	if n := r.get("tls"); n != nil {
		in := r.faults.read(r.at("tls")+".", n)
		s.TLS = &TLS{CASecret: in.name("caSecret"), ClientSecret: in.name("clientSecret")}
		in.done()
	}
	if n := r.get("server"); n != nil {
		in := r.faults.read(r.at("server")+".", n)
		s.Server = Server{Name: in.name("name"), Namespace: in.name("namespace"), Address: in.text("address"), URL: in.url("url")}
		in.done()
	}
	if n := r.get("prometheus"); n != nil {
		in := r.faults.read(r.at("prometheus")+".", n)
		s.Prometheus = Prometheus{URL: in.url("url"), Labels: in.words("labels")}
		in.done()
	}
}
