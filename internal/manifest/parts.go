package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// url returns one of HTTP, or "".
func (r *reader) url(key string) string {
	text := r.text(key)
	if text != "" && !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		r.faultf(key, "%s must begin with http:// or https://", quote(text))
		return ""
	}
	return strings.TrimSuffix(text, "/")
}

// queue reads patterns: text as in a trigger's metadata, or a list of such.
func (r *reader) queue(key string) string {
	n := r.get(key)
	if n == nil {
		return ""
	}
	var text string
	switch n.Kind {
	case yaml.ScalarNode:
		text = strings.TrimSpace(n.Value)
	case yaml.SequenceNode:
		items := make([]string, 0, len(n.Content))
		for i, item := range n.Content {
			item = resolve(item)
			if item.Kind != yaml.ScalarNode || strings.TrimSpace(item.Value) == "" {
				r.faultf(key, "item %d must be the name of a queue, or a glob such as mail-*", i+1)
				return ""
			}
			items = append(items, strings.TrimSpace(item.Value))
		}
		text = strings.Join(items, ",")
	default:
		r.faultf(key, "must be a queue, or a list of queues, not %s", kind(n))
		return ""
	}
	if _, err := patterns(text); err != nil {
		r.faultf(key, "%v", err)
		return ""
	}
	return text
}

// worker reads what is scaled: the name of a Deployment, or a map.
func (r *reader) worker(key string) Worker {
	n := r.get(key)
	if n == nil {
		return Worker{}
	}
	if n.Kind == yaml.ScalarNode {
		return Worker{Name: r.name(key)}
	}
	in := r.faults.read(r.at(key)+".", n)
	w := Worker{
		Name: in.name("name"), Kind: in.text("kind"), APIVersion: in.text("apiVersion"), Container: in.name("container"),
		Job: in.get("job"),
	}
	in.done()
	if (w.Kind == "") != (w.APIVersion == "") && w.Kind != "Deployment" && w.Kind != "StatefulSet" {
		in.faultf("kind", "give kind and apiVersion together, such as StatefulSet and apps/v1")
	}
	return w
}

// crons reads a list of times.
func (r *reader) crons(key string) []Cron {
	n := r.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.faultf(key, "must be a list of {timezone, start, end, replicas}, not %s", kind(n))
		return nil
	}
	var all []Cron
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d].", r.at(key), i)
		in := r.faults.read(at, item)
		c := Cron{Timezone: in.text("timezone"), Start: in.text("start"), End: in.text("end")}
		c.Replicas, _ = in.count("replicas", 1, maxReplicas)
		in.done()
		if c.Timezone == "" || c.Start == "" || c.End == "" || c.Replicas == 0 {
			r.faultf(key, "item %d needs timezone (Europe/Berlin), start and end (0 8 * * 1-5), and replicas", i+1)
		}
		all = append(all, c)
	}
	return all
}

// fallback reads replicas, or a map with how many polls have to fail before.
func (r *reader) fallback(key string) Fallback {
	n := r.get(key)
	if n == nil {
		return Fallback{Replicas: -1}
	}
	if n.Kind == yaml.ScalarNode {
		replicas, _ := r.count(key, 0, maxReplicas)
		return Fallback{Replicas: replicas, given: true}
	}
	in := r.faults.read(r.at(key)+".", n)
	f := Fallback{given: true}
	var there bool
	if f.Replicas, there = in.count("replicas", 0, maxReplicas); !there {
		f.Replicas = -1
	}
	f.After, _ = in.count("after", 1, maxFailures)
	in.done()
	return f
}
