package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	ownCommand = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:bin/)?leadsman (.*)$`)
	inText     = regexp.MustCompile("`leadsman ([a-z][^`]*)`")
)

// Every command of leadsman that the documentation shows is one that there is, with flags that it takes.
func TestCommandsInTheDocumentationAreThere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := filepath.Glob("../../deploy/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(append(pages, deployed...), "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(text) {
			checked++
			checkCommand(t, filepath.Base(page), line)
		}
	}
	if checked < 20 {
		t.Errorf("%d commands were found, fewer than there are", checked)
	}
}

// commandsIn returns the arguments of the commands in a page's code blocks and sentences.
func commandsIn(text []byte) []string {
	var all []string
	for _, block := range shellBlock.FindAllSubmatch(text, -1) {
		for line := range bytes.Lines(block[1]) {
			code, _, _ := strings.Cut(string(line), " #")
			if m := ownCommand.FindStringSubmatch(strings.TrimSpace(code)); m != nil {
				all = append(all, m[1])
			}
		}
	}
	for _, m := range inText.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

func checkCommand(t *testing.T, page, line string) {
	t.Helper()
	words := strings.Fields(line)
	command, rest, err := newRootCommand().Find(words)
	if err != nil {
		t.Errorf("%s: leadsman %s: %v", page, line, err)
		return
	}
	if command.Parent() == nil {
		t.Errorf("%s: leadsman %s: there is no such command", page, line)
		return
	}
	command.InitDefaultHelpFlag()
	if err := command.ParseFlags(rest); err != nil {
		t.Errorf("%s: leadsman %s: %v", page, line, err)
	}
}
