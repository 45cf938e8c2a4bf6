// Package docker holds the image of leadsman: a Dockerfile, and tests of what it promises. None of them needs a container
// engine: the few instructions that the Dockerfile has are carried out as an engine would, into a folder, and the binary runs
// in there as the Helm chart has it run. With the build tag image an engine, buildah, builds the image too, and the same is
// asked of what it builds.
package docker

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.." // of the repository

// An instruction is one of a Dockerfile.
type instruction struct{ name, rest string }

// A stage is what one FROM begins.
type stage []instruction

// the returns the one instruction of a name.
func (s stage) the(t *testing.T, name string) string {
	t.Helper()
	all := s.all(name)
	if len(all) != 1 {
		t.Fatalf("%d instructions %s, want one", len(all), name)
	}
	return all[0]
}

func (s stage) all(name string) []string {
	var all []string
	for _, i := range s {
		if i.name == name {
			all = append(all, i.rest)
		}
	}
	return all
}

// stages reads the Dockerfile: the one that builds, and the one that is the image.
func stages(t *testing.T) (build, image stage) {
	t.Helper()
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")
	var all []stage
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if name == "FROM" {
			all = append(all, nil)
		}
		if len(all) == 0 {
			t.Fatalf("%s stands before the first FROM", line)
		}
		all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.Join(strings.Fields(rest), " ")})
	}
	if len(all) != 2 {
		t.Fatalf("%d stages, want two", len(all))
	}
	return all[0], all[1]
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// found is what the group of a pattern matches.
func found(t *testing.T, pattern, text string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not in\n%s", pattern, text)
	}
	return m[1]
}

func TestTheImageIsBuiltAsMakeBuildsTheBinary(t *testing.T) {
	t.Parallel()
	build, _ := stages(t)
	compile := build.all("RUN")[1]
	unquoted := strings.NewReplacer("'", "", `"`, "", "$(VERSION)", "$VERSION")
	const flags = `go build (.*) -o \S+leadsman \./cmd/leadsman`
	made := unquoted.Replace(found(t, flags, read(t, root+"/Makefile")))
	if got := unquoted.Replace(found(t, flags, compile)); got != made {
		t.Errorf("the image is built by %s, and make builds by %s", got, made)
	}
	if !strings.HasPrefix(compile, "CGO_ENABLED=0 ") || !strings.Contains(read(t, root+"/Makefile"), "@CGO_ENABLED=0 go build") {
		t.Errorf("not both are static: %s", compile)
	}
	version := found(t, `(?m)^go (\d+\.\d+)`, read(t, root+"/go.mod"))
	if got := found(t, `golang:(\S+)`, build.the(t, "FROM")); got != version {
		t.Errorf("the image is built by Go %s, and go.mod says %s", got, version)
	}
}

// The chart and the manifests for kustomize run what the image is: the same user, ports and command.
func TestTheImageIsWhatIsDeployed(t *testing.T) {
	t.Parallel()
	_, image := stages(t)
	if base := image.the(t, "FROM"); base != "scratch" {
		t.Errorf("the image is made from %s", base)
	}
	deployed := []string{root + "/deploy/helm/leadsman/templates/deployment.yaml"}
	kustomized, err := filepath.Glob(root + "/deploy/kustomize/base/*deployment*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(deployed, kustomized...) {
		text := read(t, file)
		user := found(t, `runAsUser: (\d+)`, text) + ":" + found(t, `runAsGroup: (\d+)`, text)
		if got := image.the(t, "USER"); got != user {
			t.Errorf("the image's user is %s, and %s has %s", got, file, user)
		}
		if strings.Contains(text, "command:") { // the image's ENTRYPOINT then is nobody's
			t.Errorf("%s has another command", file)
		}
	}
	values := read(t, root+"/deploy/helm/leadsman/values.yaml")
	ports := found(t, `(?m)^grpc:\n(?:  .*\n)*?  port: (\d+)`, values) + " " + found(t, `(?m)^http:\n(?:  .*\n)*?  port: (\d+)`, values)
	if got := image.the(t, "EXPOSE"); got != ports {
		t.Errorf("the image has ports %s, and the chart %s", got, ports)
	}
	if got := image.the(t, "ENTRYPOINT"); got != `["/leadsman"]` {
		t.Errorf("the image runs %s", got)
	}
}

// buildContext copies to a folder what .dockerignore lets into the build: all is out but what it names, and of that its tests.
func buildContext(t *testing.T, to string) {
	t.Helper()
	var let, out []string
	for line := range strings.Lines(read(t, root+"/.dockerignore")) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "!"); ok {
			let = append(let, name)
		} else if rest, ok := strings.CutPrefix(line, "**/"); ok {
			out = append(out, rest)
		} else if line != "*" && line != "" && !strings.HasPrefix(line, "#") {
			t.Fatalf(".dockerignore has a line %s, which this test cannot read", line)
		}
	}
	for _, name := range let {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			ignored := slices.ContainsFunc(out, func(pattern string) bool {
				matched, _ := filepath.Match(pattern, entry.Name())
				return matched
			})
			switch {
			case ignored && entry.IsDir():
				return filepath.SkipDir
			case ignored:
				return nil
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if entry.IsDir() {
				return os.MkdirAll(filepath.Join(to, relative), 0o755)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, relative), bytes.Clone(text), 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
