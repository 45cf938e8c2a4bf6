package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/manifest"
)

// The formats of leadsman manifest.
const (
	manifestYAML = "yaml"
	manifestJSON = "json"
)

// newManifestCommand makes "leadsman manifest", which only prints: what to apply is for a person to read first.
func newManifestCommand() *cobra.Command {
	var files []string
	var output string
	cmd := &cobra.Command{
		Use:   "manifest -f FILE",
		Short: "Turn a short spec into the Kubernetes objects that scale a worker by its queue",
		Long: `Turn a short spec into the complete Kubernetes objects that scale a worker by its queue. Nothing is asked of a cluster or
of leadsman, and nothing is applied. The comments in the output say why, where settings are easily got wrong.

A spec:

` + manifest.Example + `
A file may hold several specs, with --- between them; - is standard input. All that is wrong is reported at once.
This is what a spec may say:

` + manifest.Reference,
		Example: `  leadsman manifest -f autoscale.yaml | kubectl apply -f -
  leadsman manifest -f autoscale.yaml | leadsman explain -f -
  leadsman manifest -f autoscale.yaml -o json | jq '.spec.triggers[0].metadata'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return writeManifests(cmd.OutOrStdout(), cmd.InOrStdin(), files, output)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&files, "file", "f", nil, "YAML file with specs, - for standard input; repeat for more")
	flags.StringVarP(&output, "output", "o", manifestYAML, "yaml with comments, or json for programs")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json") // fails for an unknown flag only
	forms := cobra.FixedCompletions([]string{manifestYAML, manifestJSON}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", forms)
	return cmd
}

// writeManifests makes the objects of all files and writes them, or writes nothing.
func writeManifests(out io.Writer, stdin io.Reader, files []string, output string) error {
	write := manifest.WriteYAML
	switch output {
	case manifestYAML:
	case manifestJSON:
		write = manifest.WriteJSON
	default:
		return fmt.Errorf("-o %s: %s", output, meant(output, []string{manifestYAML, manifestJSON}))
	}
	if len(files) == 0 {
		return errors.New("there is no spec: name a file by -f, - for standard input; leadsman manifest --help shows one")
	}
	texts := make([]manifest.File, len(files))
	for i, file := range files {
		text, err := readSpec(stdin, file)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	specs, err := manifest.Parse(texts...)
	if err != nil {
		return err
	}
	return write(out, manifest.Generate(specs))
}

// readSpec reads a file, or standard input where it is called -.
func readSpec(stdin io.Reader, file string) (manifest.File, error) {
	if file == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return manifest.File{}, fmt.Errorf("standard input: %w", err)
		}
		return manifest.File{Name: "stdin", Data: data}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return manifest.File{}, err
	}
	return manifest.File{Name: filepath.Base(file), Data: data}, nil
}
