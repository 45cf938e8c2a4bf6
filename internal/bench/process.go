package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// startTimeout bounds the start and the stop of a process, generously.
const startTimeout = 30 * time.Second

// A process is a server under measurement.
type process struct {
	addr  string        // where it serves gRPC
	took  time.Duration // from the start of its program to its first healthy answer
	pid   int
	ended chan struct{} // closed when it is gone
	log   string        // file that holds its standard error
}

// leadsman starts the built binary over one source, "bench", with River's tables. sampling is the configuration's
// key of that name; nil leaves the defaults.
func (b *bed) leadsman(url string, sampling map[string]any) *process {
	return b.leadsmanOver(sourceOf(url, "river"), sampling)
}

// sourceOf is a source as the configuration describes it.
func sourceOf(url, preset string) map[string]any {
	return map[string]any{"url": url, "preset": preset}
}

// leadsmanOver is leadsman for any source.
func (b *bed) leadsmanOver(source, sampling map[string]any) *process {
	addr := storagetest.FreeAddress(b)
	if sampling == nil {
		sampling = map[string]any{}
	}
	config, err := json.Marshal(map[string]any{
		"grpc":     map[string]any{"listen": addr},
		"http":     map[string]any{"listen": storagetest.FreeAddress(b)}, // as in production: calls are counted
		"log":      map[string]any{"level": "warn"},
		"sampling": sampling,
		"sources":  map[string]any{"bench": source},
	})
	b.must(err)
	dir := b.tempDir()
	file := filepath.Join(dir, "leadsman.yaml") // JSON is YAML
	b.must(os.WriteFile(file, config, 0o600))
	return b.start(addr, dir, b.opts.leadsman, "serve", "--config", file)
}

// bare starts the bare server.
func (b *bed) bare(flags ...string) *process {
	self, err := os.Executable()
	b.must(err)
	addr := storagetest.FreeAddress(b)
	return b.start(addr, b.tempDir(), self, append([]string{bareCommand, "-listen", addr}, flags...)...)
}

// start runs a program until the bed is cleaned and returns when it serves.
func (b *bed) start(addr, dir, name string, args ...string) *process {
	p := &process{addr: addr, ended: make(chan struct{}), log: filepath.Join(dir, "log")}
	log, err := os.Create(p.log)
	b.must(err)
	defer log.Close()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // nothing of the caller's may configure it
	start := time.Now()
	b.must(cmd.Start())
	p.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // how it ended is not measured
		close(p.ended)
	}()
	b.Cleanup(p.stop)
	b.must(p.awaitHealth(b.ctx))
	p.took = time.Since(start)
	return p
}

// awaitHealth asks until the answer is SERVING.
func (p *process) awaitHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// Not by gRPC's own reconnecting, which waits a second after the first refusal.
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
		if err == nil {
			_ = conn.Close() // it has served its purpose
			break
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the server ended at once: %s", p.logTail())
		case <-ctx.Done():
			return fmt.Errorf("the server does not listen: %w: %s", ctx.Err(), p.logTail())
		case <-time.After(200 * time.Microsecond):
		}
	}
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err == nil && answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		err = fmt.Errorf("the server is %s", answer.GetStatus())
	}
	return err
}

// stop ends the process, by force if it takes too long.
func (p *process) stop() {
	_ = syscall.Kill(p.pid, syscall.SIGTERM) // fails if it is gone, as is wanted
	select {
	case <-p.ended:
	case <-time.After(startTimeout):
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.ended
	}
}

// logTail is the end of what the process wrote to its standard error.
func (p *process) logTail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}

// rss returns the process's resident memory in bytes.
func (b *bed) rss(p *process) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	b.must(err)
	for line := range bytes.Lines(text) {
		var kib float64
		if _, err := fmt.Sscanf(string(line), "VmRSS: %f kB", &kib); err == nil {
			return kib * 1024
		}
	}
	b.Fatal("the system does not tell a process's memory")
	return 0
}

// cpu returns the processor time that the process has used.
func (b *bed) cpu(p *process) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	b.must(err)
	// The fields after the program's name, which is in parentheses; utime and stime are numbers 14 and 15 of all,
	// in hundredths of a second.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		b.must(err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
