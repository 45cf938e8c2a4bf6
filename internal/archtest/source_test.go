package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// sourceFaults parses one file and returns what in it runs code merely because a package was imported: an init
// function, or a blank import of a package of ours. What starts leadsman is to be read top-down from main.
// Generated files are let be: protoc-gen-go registers its descriptors in an init.
func sourceFaults(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var faults []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import path: %w", fset.Position(spec.Pos()), err)
		}
		if spec.Name != nil && spec.Name.Name == "_" && within(path) != "" {
			faults = append(faults, fmt.Sprintf("%s: blank import of %s", fset.Position(spec.Pos()), path))
		}
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			faults = append(faults, fmt.Sprintf("%s: func init", fset.Position(fn.Pos())))
		}
	}
	return faults, nil
}
