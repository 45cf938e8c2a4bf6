package manifest

import (
	_ "embed" // for Example and Reference
)

// Example is a spec to start from.
//
//go:embed example.yaml
var Example string

// Reference says what every key of a spec means.
//
//go:embed reference.txt
var Reference string
