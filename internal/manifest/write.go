package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// WriteYAML writes the objects as documents, with comments.
func WriteYAML(w io.Writer, objects []Object) error {
	for i := range objects {
		text, err := objects[i].yaml()
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the objects for programs: one as it is, several as a List.
func WriteJSON(w io.Writer, objects []Object) error {
	items := make([]json.RawMessage, len(objects))
	for i := range objects {
		text, err := objects[i].yaml()
		if err != nil {
			return err
		}
		if items[i], err = k8syaml.YAMLToJSON(text); err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if len(items) == 1 {
		return encoder.Encode(items[0])
	}
	return encoder.Encode(struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{"v1", "List", items})
}

// yaml writes one object.
func (o *Object) yaml() ([]byte, error) {
	var root yaml.Node
	if err := root.Encode(o.Body); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	annotate(&root, "", o.Notes)
	var b bytes.Buffer
	if o.Head != "" {
		b.WriteString("# " + strings.ReplaceAll(wrap(o.Head), "\n", "\n# ") + "\n")
	}
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return b.Bytes(), encoder.Close()
}

// annotate puts the notes above their keys. A note for what is not there is left out, so that those who make notes
// need not know.
func annotate(n *yaml.Node, path string, notes map[string]string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := path + key.Value
			if note := notes[at]; note != "" {
				key.HeadComment = wrap(note)
			}
			annotate(value, at+".", notes)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			at := strings.TrimSuffix(path, ".") + "[" + strconv.Itoa(i) + "]"
			if note := notes[at]; note != "" {
				item.HeadComment = wrap(note)
			}
			annotate(item, at+".", notes)
		}
	default: // a value has no keys
	}
}
