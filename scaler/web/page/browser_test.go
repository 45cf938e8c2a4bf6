package page

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// findBrowser returns a Chromium, or what is like it.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium, and neither chromium nor google-chrome was found in PATH: run `make deps`, or install the package chromium")
	return ""
}

// A browser is one that a test has started.
type browser struct{ ctx context.Context }

// startBrowser starts a browser with a fresh profile. It asks nothing of anybody but the test's server.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(findBrowser(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(time.Minute), // the first start on a busy machine
	)
	allocated, release := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, quit := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the browser did not end: %v", err)
		}
		quit()
		release()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser did not start: %v", err)
	}
	return &browser{ctx}
}

// A tab is a page in the browser, of which everything is noted that should not be.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string
}

// open opens base in a new tab. When the test ends, it fails if anything was written to the console, was blocked by the
// policy, or was asked of anybody else. allowed are parts of console messages that the test causes on purpose.
func (b *browser) open(t *testing.T, base string, allowed ...string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	tab := &tab{t: t, ctx: ctx, base: base}
	t.Cleanup(func() {
		closeTab()
		tab.mu.Lock()
		defer tab.mu.Unlock()
		for _, fault := range tab.faults {
			if !slices.ContainsFunc(allowed, func(part string) bool { return strings.Contains(fault, part) }) {
				t.Errorf("in the browser: %s", fault)
			}
		}
	})
	if err := chromedp.Listen(ctx, tab.note); err != nil {
		t.Fatal(err)
	}
	call(tab, network.Enable, network.EnableParams{})
	call(tab, log.Enable, cdp.Empty{})
	tab.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(base))
	return tab
}

// note notes what should not have happened.
func (tb *tab) note(ev any) {
	fault := ""
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		fault = ev.ExceptionDetails.Text
		if ev.ExceptionDetails.Exception != nil {
			fault += ": " + ev.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		fault = string(ev.Type)
		for _, arg := range ev.Args {
			fault = fmt.Sprintf("%s %s", fault, arg.Value)
		}
	case *log.EventEntryAdded:
		fault = fmt.Sprintf("%s: %s %s", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, tb.base) {
			fault = "a request to " + ev.Request.URL
		}
	}
	if fault == "" {
		return
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.faults = append(tb.faults, fault)
}

// within bounds what a test waits for.
func (tb *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(tb.ctx, 30*time.Second)
}

func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := tb.within()
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) R {
	tb.t.Helper()
	ctx, cancel := tb.within()
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		tb.t.Fatal(err)
	}
	return result
}

// eval returns what an expression comes to.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	ctx, cancel := tb.within()
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// wait waits until an expression is true. It asks again and again from here: the page's policy lets nobody else.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !eval[bool](tb, "Boolean("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.t.Fatalf("%s does not become true; the page says:\n%s", expression, eval[string](tb, "document.body.innerText"))
		}
	}
}

// shoot keeps a picture of the whole page among the test's artifacts: go test -artifacts -outputdir DIR keeps those.
func (tb *tab) shoot(name string) {
	tb.t.Helper()
	ctx, cancel := tb.within()
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(tb.t.ArtifactDir(), name+".png"), png, 0o644)
	}
	if err != nil {
		tb.t.Fatal(err)
	}
}

// scheme has the system prefer light or dark.
func (tb *tab) scheme(name string) {
	tb.t.Helper()
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}
