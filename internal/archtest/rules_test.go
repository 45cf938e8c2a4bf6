package archtest

import (
	"slices"
	"strings"
)

const module = "github.com/leadsman/leadsman"

// A pkg is one package of this module as `go list -json` tells it. Imports and Deps leave test files out.
type pkg struct {
	ImportPath string
	Imports    []string // direct
	Deps       []string // direct and indirect
}

// A rule says what the packages that it applies to may import.
type rule struct {
	name string
	// applies says whether the rule speaks about the package at path, which is relative to the module.
	applies func(path string) bool
	// deep extends the rule from what a package imports itself to what it thereby links.
	deep bool
	// allows says whether the package at path, relative to the module, may import imported, a full path.
	allows func(path, imported string) bool
}

// rules are the import rules of the design, one entry each.
var rules = []rule{
	{
		name:    "the driver seam imports the standard library only",
		applies: is("storage/driver"),
		deep:    true,
		allows:  func(_, imported string) bool { return standard(imported) },
	},
	{
		name:    "engines and presets import no leadsman package but the driver seam and their own",
		applies: either(engine, preset, under("storage/internal"), under("storage/preset/internal")),
		allows: func(path, imported string) bool {
			ours := within(imported)
			shared := either(is("storage/driver"), under("storage/internal"), under("storage/preset/internal"))
			return ours == "" || shared(ours) || under(home(path))(ours)
		},
	},
	{
		name:    "engines and presets link no scaler, no proto and no gRPC",
		applies: either(engine, preset, under("storage/internal"), is("storage")),
		deep:    true,
		allows: func(_, imported string) bool {
			return !either(under("scaler"), under("proto"))(within(imported)) && !grpc(imported)
		},
	},
	{
		name: "query, wake, auth and spell are leaves, but for spell's suggestions",
		applies: either(under("scaler/internal/query"), under("scaler/internal/wake"), under("scaler/internal/auth"),
			is("internal/spell")),
		allows: func(path, imported string) bool {
			ours := within(imported)
			return ours == "" || ours == "internal/spell" || under(home(path))(ours)
		},
	},
	{
		name:    "sample imports no leadsman package but storage, its driver seam and query",
		applies: under("scaler/internal/sample"),
		allows: func(path, imported string) bool {
			ours := within(imported)
			return ours == "" || under(home(path))(ours) ||
				either(is("storage"), is("storage/driver"), is("scaler/internal/query"))(ours)
		},
	},
	{
		name:    "the scaler links no engine and no preset",
		applies: under("scaler"),
		deep:    true,
		allows:  func(_, imported string) bool { return !either(engine, preset)(within(imported)) },
	},
	{
		name:    "only the command imports engines and presets",
		applies: func(path string) bool { return !either(engine, preset, under("cmd/leadsman"), forTests)(path) },
		allows:  func(_, imported string) bool { return !either(engine, preset)(within(imported)) },
	},
	{
		name:    "only tests import test packages",
		applies: func(path string) bool { return !forTests(path) },
		allows:  func(_, imported string) bool { return !forTests(within(imported)) },
	},
	{
		name:    "nothing imports the command",
		applies: func(path string) bool { return !under("cmd")(path) },
		allows:  func(_, imported string) bool { return !under("cmd")(within(imported)) },
	},
}

// faults returns the imports of p that break the rule, in order.
func (r rule) faults(p pkg) []string {
	path := within(p.ImportPath)
	if path == "" || !r.applies(path) {
		return nil
	}
	imports := p.Imports
	if r.deep {
		imports = p.Deps
	}
	var faults []string
	for _, imported := range imports {
		if !r.allows(path, imported) {
			faults = append(faults, imported)
		}
	}
	slices.Sort(faults)
	return faults
}

// within returns the path of a package relative to the module: "." for its root, "" for one of another module.
func within(importPath string) string {
	if importPath == module {
		return "."
	}
	path, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	return path
}

// standard says whether a package is of the standard library: the first part of its path has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// grpc says whether a package is of grpc-go.
func grpc(importPath string) bool {
	return importPath == "google.golang.org/grpc" || strings.HasPrefix(importPath, "google.golang.org/grpc/")
}

// engine says whether a package belongs to an engine: any folder of storage that has no other meaning.
func engine(path string) bool {
	other := either(is("storage"), under("storage/driver"), under("storage/internal"), under("storage/preset"),
		under("storage/storagetest"))
	return under("storage")(path) && !other(path)
}

// preset says whether a package belongs to a preset.
func preset(path string) bool {
	return under("storage/preset")(path) && !under("storage/preset/internal")(path)
}

// forTests says whether a package serves tests and measurements only.
func forTests(path string) bool {
	return either(under("test"), under("storage/storagetest"), under("internal/archtest"), under("internal/bench"))(path)
}

// home returns the folder that a package and its own subpackages live in: storage/postgres, storage/preset/river,
// scaler/internal/wake.
func home(path string) string {
	depth := 2
	if under("storage/preset")(path) || under("scaler/internal")(path) {
		depth = 3
	}
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// is matches one package.
func is(want string) func(string) bool {
	return func(path string) bool { return path == want }
}

// under matches a package and all below it.
func under(folder string) func(string) bool {
	return func(path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
}

// either matches what one of the matchers does.
func either(matchers ...func(string) bool) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(matchers, func(match func(string) bool) bool { return match(path) })
	}
}
