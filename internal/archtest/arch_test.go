// Package archtest holds the layout of this module to its design: which package may import which, and that no
// package does anything merely by being imported. It has tests only.
//
// The rules are in rules_test.go, each with the sentence that it enforces as its name. They are functions over
// plain values, so that TestRulesFindViolations can show that each of them is able to fail.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the module's folder, seen from this package's, where go test runs it.
const root = "../.."

func TestImportRules(t *testing.T) {
	pkgs := list(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			applied := 0
			for _, p := range pkgs {
				if r.applies(within(p.ImportPath)) {
					applied++
				}
				for _, fault := range r.faults(p) {
					t.Errorf("%s imports %s", p.ImportPath, fault)
				}
			}
			if applied == 0 {
				t.Error("the rule applies to no package: was a folder renamed?")
			}
		})
	}
}

func TestImportingAPackageRunsNothing(t *testing.T) {
	for _, name := range sources(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := sourceFaults(name, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			t.Error(fault)
		}
	}
}

func TestRulesFindViolations(t *testing.T) {
	const (
		grpcStatus = "google.golang.org/grpc/status"
		pgx        = "github.com/jackc/pgx/v5"
	)
	tests := []struct {
		rule    string
		path    string   // of the importing package, in the module
		imports []string // "…/x" stands for package x of the module
		want    []string
	}{
		{"the driver seam imports", "storage/driver", []string{"context", "net/http", "vendor/golang.org/x/net/idna"}, nil},
		{"the driver seam imports", "storage/driver", []string{"time", pgx}, []string{pgx}},
		{"the driver seam imports", "storage/driver", []string{"…/storage"}, []string{"…/storage"}},

		{"engines and presets import", "storage/postgres", []string{"…/storage/driver", "…/storage/internal/row", pgx}, nil},
		{"engines and presets import", "storage/postgres", []string{"…/storage/postgres/wire"}, nil},
		{"engines and presets import", "storage/postgres", []string{"…/storage"}, []string{"…/storage"}},
		{"engines and presets import", "storage/sqlite", []string{"…/storage/memory"}, []string{"…/storage/memory"}},
		{"engines and presets import", "storage/preset/river", []string{"…/storage/driver"}, nil},
		{"engines and presets import", "storage/preset/river", []string{"…/storage/preset/sql"}, []string{"…/storage/preset/sql"}},
		{"engines and presets import", "storage/preset/river", []string{"…/storage/postgres"}, []string{"…/storage/postgres"}},
		{"engines and presets import", "storage/internal/row", []string{"…/storage/sqlite"}, []string{"…/storage/sqlite"}},

		{
			"engines and presets link", "storage/redis",
			[]string{"…/scaler", "…/proto/leadsman/v1", grpcStatus, "…/storage/driver"},
			[]string{"…/proto/leadsman/v1", "…/scaler", grpcStatus},
		},
		{"engines and presets link", "storage/preset/sql", []string{"google.golang.org/grpc"}, []string{"google.golang.org/grpc"}},
		{"engines and presets link", "storage/postgres", []string{"google.golang.org/grpcish"}, nil},

		{"query, wake, auth and spell", "scaler/internal/query", []string{"strings", "sigs.k8s.io/yaml"}, nil},
		{"query, wake, auth and spell", "scaler/internal/query", []string{"…/internal/spell"}, nil},
		{"query, wake, auth and spell", "internal/spell", []string{"…/storage"}, []string{"…/storage"}},
		{"query, wake, auth and spell", "scaler/internal/wake", []string{"…/storage/driver"}, []string{"…/storage/driver"}},
		{"query, wake, auth and spell", "scaler/internal/auth", []string{"…/scaler/internal/query"}, []string{"…/scaler/internal/query"}},
		{"query, wake, auth and spell", "scaler/internal/auth", []string{"…/scaler/internal/auth/cert"}, nil},

		{"sample imports", "scaler/internal/sample", []string{"…/storage", "…/storage/driver", "…/scaler/internal/query"}, nil},
		{"sample imports", "scaler/internal/sample", []string{"…/scaler/internal/wake"}, []string{"…/scaler/internal/wake"}},

		{"the scaler links", "scaler/inspect", []string{"…/storage", "…/storage/driver", grpcStatus}, nil},
		{
			"the scaler links", "scaler",
			[]string{"…/storage/memory", "…/storage/preset/river"},
			[]string{"…/storage/memory", "…/storage/preset/river"},
		},

		{"only the command", "cmd/leadsman", []string{"…/storage/postgres", "…/storage/preset/river"}, nil},
		{"only the command", "internal/bench", []string{"…/storage/postgres"}, nil},
		{"only the command", ".", []string{"…/storage/sqlite"}, []string{"…/storage/sqlite"}},
		{"only the command", "storage", []string{"…/storage/preset/sql"}, []string{"…/storage/preset/sql"}},

		{"only tests import", "internal/bench", []string{"…/storage/storagetest"}, nil},
		{
			"only tests import", "storage/memory",
			[]string{"…/storage/storagetest", "…/test/e2e/keda"},
			[]string{"…/storage/storagetest", "…/test/e2e/keda"},
		},

		{"nothing imports the command", "scaler", []string{"…/cmd/leadsman/wire"}, []string{"…/cmd/leadsman/wire"}},
	}
	able := map[string]bool{}
	for _, tt := range tests {
		r := ruleOf(t, tt.rule)
		able[r.name] = able[r.name] || len(tt.want) > 0
		imports := expand(tt.imports)
		got := r.faults(pkg{ImportPath: expand([]string{"…/" + tt.path})[0], Imports: imports, Deps: imports})
		if diff := cmp.Diff(expand(tt.want), got); diff != "" {
			t.Errorf("%s: %s imports %q: faults (-want +got):\n%s", r.name, tt.path, tt.imports, diff)
		}
	}
	for _, r := range rules {
		if !able[r.name] {
			t.Errorf("no case shows that the rule can fail: %s", r.name)
		}
	}
}

func TestShallowRulesLookAtDirectImportsOnly(t *testing.T) {
	p := pkg{ImportPath: module + "/internal/report", Deps: []string{module + "/storage/sqlite"}}
	if got := ruleOf(t, "only the command").faults(p); got != nil {
		t.Errorf("faults = %q, want none", got)
	}
	p.ImportPath = module + "/scaler/web"
	if got := ruleOf(t, "the scaler links").faults(p); len(got) != 1 {
		t.Errorf("faults = %q, want the engine that is linked through another package", got)
	}
}

func TestSourceFaultsAreFound(t *testing.T) {
	const ours = `"` + module + `/storage/memory"`
	tests := []struct {
		name, src string
		want      []string
	}{
		{"plain file", "package a\nimport " + ours + "\nvar _ = memory.New\nfunc Init() {}", nil},
		{"method of that name", "package a\ntype t struct{}\nfunc (t) init() {}", nil},
		{"blank import of another's", "package a\nimport _ \"embed\"", nil},
		{"generated", "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\nfunc init() {}", nil},
		{"init", "package a\n\nfunc init() {}", []string{"a.go:3:1: func init"}},
		{"blank import of ours", "package a\nimport _ " + ours, []string{"a.go:2:8: blank import of " + strings.Trim(ours, `"`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sourceFaults("a.go", []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// ruleOf returns the rule whose name begins with prefix.
func ruleOf(t *testing.T, prefix string) rule {
	t.Helper()
	for _, r := range rules {
		if strings.HasPrefix(r.name, prefix) {
			return r
		}
	}
	t.Fatalf("no rule begins with %q", prefix)
	return rule{}
}

// expand writes the module's path where the tables have "…".
func expand(paths []string) []string {
	var full []string
	for _, path := range paths {
		path = strings.Replace(path, "…/.", "…", 1)
		full = append(full, strings.Replace(path, "…", module, 1))
	}
	return full
}

// list returns the packages of the module. Nested modules (test/e2e, tools) are not part of it.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatalf("go list's JSON: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// sources returns every Go file of the repository, those of tests and of nested modules too. Reading them all
// also makes go test's cache notice when what `go list` sees has changed.
func sources(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (entry.Name()[0] == '.' || entry.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(name) == ".go":
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 10 {
		t.Fatalf("found %d Go files under %s, which cannot be all", len(names), root)
	}
	return names
}
