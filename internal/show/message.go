package show

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message makes a tree for [Printer.Data] of a message: as protobuf's JSON mapping has it, with zeros written out, and
// with 64-bit integers as the numbers that they are, because who reads a count compares it.
func Message(m proto.Message) (map[string]any, error) {
	data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	number(tree, m.ProtoReflect().Descriptor())
	return tree, nil
}

// Messages makes a list of [Message] trees, never nil.
func Messages[M proto.Message](list []M) ([]map[string]any, error) {
	trees := make([]map[string]any, len(list))
	for i, m := range list {
		var err error
		if trees[i], err = Message(m); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// number turns the texts of 64-bit integers into numbers. Well-known types are no objects, and so are left alone.
func number(tree map[string]any, of protoreflect.MessageDescriptor) {
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		switch value := tree[field.JSONName()].(type) {
		case string:
			if wide(field.Kind()) {
				tree[field.JSONName()] = json.Number(value)
			}
		case map[string]any:
			if field.Message() != nil && !field.IsMap() {
				number(value, field.Message())
			}
		case []any:
			for _, item := range value {
				if element, ok := item.(map[string]any); ok && field.Message() != nil {
					number(element, field.Message())
				}
			}
		}
	}
}

// wide tells whether protobuf's JSON writes numbers of this kind as text.
func wide(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	default:
		return false
	}
}
