package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fileDecoder puts a parsed YAML tree into a struct. It exists because encoding/json stops at the first fault,
// does not say where in the tree it is, and takes keys in any case. Its faults repeat no value: the value may be
// a secret under a wrong key.
type fileDecoder struct{ found *faults }

// decode puts in, found at path, into out. A YAML null leaves out as it is.
func (d *fileDecoder) decode(path string, in any, out reflect.Value) {
	if in == nil {
		return
	}
	if s, ok := reflect.TypeAssert[scalar](out.Addr()); ok {
		d.scalar(path, in, s)
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		faults := len(d.found.lines)
		value := reflect.New(out.Type().Elem())
		d.decode(path, in, value.Elem())
		if len(d.found.lines) == faults { // else leave it unset: one fault is enough
			out.Set(value)
		}
	case reflect.Struct:
		d.fields(path, in, out)
	case reflect.Map:
		d.entries(path, in, out)
	case reflect.Slice:
		d.items(path, in, out)
	case reflect.String:
		if text, ok := in.(string); ok {
			out.SetString(text)
		} else {
			d.found.addf(path, "must be text, not %s; put it into quotes", kind(in))
		}
	case reflect.Bool:
		if b, ok := in.(bool); ok {
			out.SetBool(b)
		} else {
			d.found.addf(path, "must be true or false, not %s", kind(in))
		}
	case reflect.Int64:
		d.number(path, in, out)
	default:
		panic("config: no way to decode a " + out.Type().String()) // a fault of fileConfig, met by every test
	}
}

func (d *fileDecoder) scalar(path string, in any, out scalar) {
	text, ok := in.(string)
	if !ok {
		d.found.addf(path, "must be text, such as 30s for a duration or 2027-03-01 for a date, not %s", kind(in))
		return
	}
	if err := out.parse(text); err != nil {
		d.found.addf(path, "%v", err)
	}
}

func (d *fileDecoder) number(path string, in any, out reflect.Value) {
	number, ok := in.(json.Number)
	if !ok {
		d.found.addf(path, "must be a whole number, not %s", kind(in))
		return
	}
	v, err := number.Int64()
	if err != nil {
		d.found.addf(path, "%s is not a whole number", number)
		return
	}
	out.SetInt(v)
}

// fields decodes a map into a struct; a key that it has no field for is a fault.
func (d *fileDecoder) fields(path string, in any, out reflect.Value) {
	tree, ok := in.(map[string]any)
	if !ok {
		d.found.addf(orRoot(path), "must be a map, not %s", kind(in))
		return
	}
	known := map[string]reflect.Value{}
	collect(out, known)
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		field, ok := known[key]
		if !ok {
			d.found.addf(join(path, key), "unknown key; %s", meant(key, slices.Collect(maps.Keys(known))))
			continue
		}
		d.decode(join(path, key), tree[key], field)
	}
}

func (d *fileDecoder) entries(path string, in any, out reflect.Value) {
	tree, ok := in.(map[string]any)
	if !ok {
		d.found.addf(path, "must be a map from names, not %s", kind(in))
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		value := reflect.New(out.Type().Elem()).Elem()
		d.decode(join(path, key), tree[key], value)
		out.SetMapIndex(reflect.ValueOf(key), value)
	}
}

func (d *fileDecoder) items(path string, in any, out reflect.Value) {
	list, ok := in.([]any)
	if !ok {
		d.found.addf(path, "must be a list, not %s; write [a, b]", kind(in))
		return
	}
	out.Set(reflect.MakeSlice(out.Type(), len(list), len(list)))
	for i, item := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		if item == nil {
			d.found.addf(at, "is empty")
			continue
		}
		d.decode(at, item, out.Index(i))
	}
}

// collect finds the fields of a struct, and of those inlined in it, by their key.
func collect(out reflect.Value, into map[string]reflect.Value) {
	for i := range out.NumField() {
		name, option, _ := strings.Cut(out.Type().Field(i).Tag.Get("yaml"), ",")
		if option == "inline" {
			collect(out.Field(i), into)
			continue
		}
		into[name] = out.Field(i)
	}
}

// kind names what YAML made of a value.
func kind(in any) string {
	switch in.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "true or false"
	default:
		return "a number"
	}
}

func join(path, key string) string {
	// A key is a person's own text: whatever stands there must not break the report.
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == '.' || r == '"' }) || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func orRoot(path string) string {
	if path == "" {
		return "config"
	}
	return path
}
