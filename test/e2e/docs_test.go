package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every object that the documentation shows is one that Kubernetes and KEDA take, and each of its triggers for leadsman is
// one that leadsman takes.
func TestObjectsInTheDocumentationAreValid(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	s := rig.Serve(t, a.Source())
	objects := 0
	for _, page := range pages(t) {
		for _, block := range yamlBlocks(t, page) {
			if !strings.Contains(block, "apiVersion: ") {
				continue
			}
			for _, object := range decodeObjects(t, page, []byte(block)) {
				objects++
				for _, trigger := range triggersOf(object) {
					checkTrigger(t, s, page, trigger)
				}
			}
		}
	}
	if objects < 8 {
		t.Errorf("%d objects were found, fewer than there are", objects)
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no documentation: %v", err)
	}
	return append(docs, "../../README.md")
}

func yamlBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, match := range yamlBlock.FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(match[1]))
	}
	return blocks
}

func triggersOf(object any) []kedav1alpha1.ScaleTriggers {
	switch object := object.(type) {
	case *kedav1alpha1.ScaledObject:
		return object.Spec.Triggers
	case *kedav1alpha1.ScaledJob:
		return object.Spec.Triggers
	default:
		return nil
	}
}

// checkTrigger asks for the metric spec, as KEDA does first, with the server's own address.
func checkTrigger(t *testing.T, s *rig.Server, page string, shown kedav1alpha1.ScaleTriggers) {
	t.Helper()
	if !strings.HasPrefix(shown.Type, "external") {
		return
	}
	if !strings.HasPrefix(shown.Metadata["scalerAddress"], "leadsman.leadsman.svc:") {
		t.Errorf("%s: a trigger for %q, where no chart installs leadsman", page, shown.Metadata["scalerAddress"])
	}
	known := rig.Metadata{}
	for key, value := range shown.Metadata {
		if key != "scalerAddress" && !strings.HasSuffix(key, "FromEnv") {
			known[key] = value
		}
	}
	rig.External(t, s, rig.Trigger{Object: rig.ObjectName(t, s, "docs"), Metadata: known}).Spec()
}

// The values that the guide shows are values of the chart, and the configuration one that the server takes.
func TestConfigurationInTheDocumentationIsTaken(t *testing.T) {
	t.Parallel()
	configs, values := 0, 0
	for _, page := range pages(t) {
		for _, block := range yamlBlocks(t, page) {
			switch {
			case strings.HasPrefix(block, "# values.yaml\n"):
				values++
				render(t, block)
			case strings.HasPrefix(block, "# leadsman.yaml\n"):
				configs++
				s := rig.NewServer(t)
				s.Configure(strings.Replace(block, "0.0.0.0:50051", s.GRPC, 1) + "http: {listen: \"off\"}\n")
				s.Start()
			}
		}
	}
	if configs == 0 || values == 0 {
		t.Errorf("%d configurations and %d values were found", configs, values)
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The commands of the quick start do what it says, in its order, on a server of its own.
func TestQuickStartOfTheDocumentationWorks(t *testing.T) {
	t.Parallel()
	s := rig.Serve(t, "")
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}}) // as grpcurl does there
	p.Opens()
	text, err := os.ReadFile("../../docs/quick-start.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range shellBlock.FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			words := strings.Fields(line)
			if words[0] != "bin/leadsman" {
				continue
			}
			ran++
			switch args := words[1:]; args[0] {
			case "enqueue":
				p.WokenBy(func() { rig.Run(t, s.Dir, args...) }, rig.Promptly)
			case "explain":
				if out := string(rig.Run(t, s.Dir, append(args, "--server", s.GRPC)...)); !strings.Contains(out, "replicas   5\n") {
					t.Errorf("%s says\n%s\nwant five replicas", line, out)
				}
			case "inspect":
				if out := string(rig.Run(t, s.Dir, append(args, "--server", s.GRPC)...)); !strings.Contains(out, "mail") {
					t.Errorf("%s says\n%s", line, out)
				}
			case "work":
				drain(t, p, s.Dir, append(args, "--for", "1ms")...)
			default:
				t.Errorf("nobody tests %q", line)
			}
		}
	}
	if ran < 4 {
		t.Errorf("%d commands were run", ran)
	}
}
