package storagetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Producer is a running program of test/libraries: a job library of another language's world, which enqueues and works
// jobs as it does in the field. It is told what to do by one JSON object a line on its standard input and answers each
// with one on its standard output; it ends when its standard input does, and so with this process.
//
// Its methods may be called from several goroutines.
type Producer struct {
	mu  sync.Mutex // held over a command and its answer
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	raw interface{ SetReadDeadline(time.Time) error } // what out reads
}

// producers are the programs that run, by file name; one of each serves all tests of a process. Main ends them.
var producers struct {
	sync.Mutex

	running map[string]*Producer
}

// Node returns the Producer that test/libraries/<name>.js is, and starts it if it does not run.
func Node(tb testing.TB, name string) *Producer {
	tb.Helper()
	return producer(tb, name+".js", func(dir string) (string, error) {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
			return "", errors.New("the job libraries are not installed in test/libraries: run `make test-libraries`")
		}
		return node(dir), nil
	})
}

// Script returns the Producer that a file of test/libraries is, and starts it if it does not run. A program in PATH
// runs it, such as ruby, which finds the job library in the system's packages.
func Script(tb testing.TB, program, file string) *Producer {
	tb.Helper()
	return producer(tb, file, func(string) (string, error) {
		path, err := exec.LookPath(program)
		if err != nil {
			err = fmt.Errorf("%w; run `make test-libraries`, which installs what is missing", err)
		}
		return path, err
	})
}

// Python returns the Producer that test/libraries/<name>.py is, and starts it if it does not run. A Python that has the job
// library's module runs it: the one in PATH or the system's, which are not the same where a version manager is.
func Python(tb testing.TB, name, module string) *Producer {
	tb.Helper()
	return producer(tb, name+".py", func(string) (string, error) {
		for _, python := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(python, "-c", "import redis, "+module).Run() == nil {
				return exec.LookPath(python)
			}
		}
		return "", fmt.Errorf("no Python has the modules redis and %s: run `make test-libraries`, which installs them", module)
	})
}

// producer returns the program by its file name. interpreter says what runs it, in the folder test/libraries.
func producer(tb testing.TB, file string, interpreter func(dir string) (string, error)) *Producer {
	tb.Helper()
	producers.Lock()
	defer producers.Unlock()
	if p, ok := producers.running[file]; ok {
		return p
	}
	p, err := start(file, interpreter)
	if err != nil {
		tb.Fatal(err)
	}
	if producers.running == nil {
		producers.running = make(map[string]*Producer)
	}
	producers.running[file] = p
	return p
}

func start(file string, interpreter func(dir string) (string, error)) (*Producer, error) {
	dir, err := libraries()
	if err != nil {
		return nil, err
	}
	program, err := interpreter(dir)
	if err != nil {
		return nil, err
	}
	p := &Producer{cmd: exec.Command(program, file)}
	p.cmd.Dir, p.cmd.Stderr = dir, os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.raw, _ = out.(*os.File) // which it is, so that reading can have a deadline
	p.out.Buffer(nil, 16<<20)
	return p, p.cmd.Start()
}

// libraries finds the module's folder test/libraries.
func libraries() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; at = filepath.Dir(at) {
		dir := filepath.Join(at, "test", "libraries")
		if _, err := os.Stat(filepath.Join(dir, "package-lock.json")); err == nil {
			return dir, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("the tests run outside of the repository, and find no test/libraries")
		}
	}
}

// node is the Node that the lockfile pins where there is one for this machine, else the one in PATH.
func node(dir string) string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	pinned := filepath.Join(dir, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(pinned); err == nil {
		return pinned
	}
	return "node"
}

// Call sends a command and returns its answer in the form of T. What the command is, and what it takes, the program
// says; an error of the library fails the test.
func Call[T any](tb testing.TB, p *Producer, command string, args map[string]any) T {
	tb.Helper()
	var answer struct {
		Error  string `json:"error"`
		Result T      `json:"result"`
	}
	message := map[string]any{"do": command}
	maps.Copy(message, args)
	line, err := json.Marshal(message)
	if err != nil {
		tb.Fatal(err)
	}
	reply, err := p.exchange(line)
	if err != nil {
		tb.Fatalf("%s: %v", command, err)
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		tb.Fatalf("%s: the program answered %q: %v", command, reply, err)
	}
	if answer.Error != "" {
		tb.Fatalf("%s: %s", line, answer.Error)
	}
	return answer.Result
}

// answerTimeout bounds the waiting for an answer; generous, for a loaded machine. A library that has lost its server may
// wait for it forever, and what such a program is asked next fails, too.
const answerTimeout = 2 * time.Minute

func (p *Producer) exchange(line []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("the program has ended: %w", err)
	}
	if err := p.raw.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	if !p.out.Scan() {
		_ = p.cmd.Process.Kill() // Main waits for its end
		return nil, errors.Join(errors.New("the program does not answer"), p.out.Err())
	}
	return p.out.Bytes(), nil
}

// stopProducers ends the programs in order.
func stopProducers() error {
	producers.Lock()
	defer producers.Unlock()
	var all []error
	for name, p := range producers.running {
		all = append(all, p.in.Close())
		if err := p.cmd.Wait(); err != nil && !strings.Contains(err.Error(), "file already closed") {
			all = append(all, fmt.Errorf("%s: %w", name, err))
		}
	}
	producers.running = nil
	return errors.Join(all...)
}
