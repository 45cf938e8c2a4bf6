package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// The page in a real browser. Pictures of it: go test ./scaler/web/page -run Browser -artifacts -outputdir DIR.
func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"looks right in light and dark, on a desk and on a phone": looksRight,
		"shows a new job without a reload":                        showsNewJob,
		"explains, and names the key that is wrong":               explains,
		"signs in and out":                                        signsInAndOut,
		"is used by keyboard":                                     isUsedByKeyboard,
		"comes back when the connection is lost":                  comesBack,
		"shows names as text":                                     showsNamesAsText,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func looksRight(t *testing.T, b *browser) {
	tb := b.open(t, scene(t).loopback().URL)
	tb.wait(`document.querySelectorAll("#queues tbody").length === 5 && document.querySelector("#queues path.area[d]")`)
	tb.do(chromedp.Click("#explain-example"), chromedp.Click("#explain-form button[type=submit]"))
	tb.wait(`document.querySelector(".told ol")`)
	tb.do(chromedp.Click("#queues tbody button.name"))
	tb.wait(`document.querySelector(".chart path.area[d]")`)
	for _, scheme := range []string{"light", "dark"} {
		tb.scheme(scheme)
		for device, size := range map[string]chromedp.Action[chromedp.Void]{
			"desk": chromedp.EmulateViewport(1280, 900), "phone": chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
		} {
			tb.do(size)
			name := device + "-" + scheme
			tb.wait(`Math.abs(document.querySelector(".chart").viewBox.baseVal.width - document.querySelector(".plot").clientWidth) < 2`) // drawn anew
			tb.shoot(name)
			if wide := eval[string](tb, tooWide); wide != "" {
				t.Errorf("%s: wider than the screen: %s", name, wide)
			}
			if pale := eval[string](tb, tooPale); pale != "" {
				t.Errorf("%s: too little contrast: %s", name, pale)
			}
			tb.accessible(name)
		}
	}
	if levels := eval[string](tb, `[...document.querySelectorAll("h1, h2, h3")].map((h) => h.tagName[1]).join("")`); !strings.HasPrefix(levels, "12") ||
		strings.Count(levels, "1") != 1 || strings.Contains(levels, "13") {
		t.Errorf("headings %s", levels)
	}
}

// tooWide names the elements that reach beyond the screen.
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? "" :
	[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 80)).join("\n")`

// tooPale names the texts whose contrast with what is behind them is below 4.5, by the formula of WCAG 2.
const tooPale = `(() => {
	const parse = (color) => color.match(/[\d.]+/g).map(Number);
	const luminance = (rgb) => {
		const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
			if (a === 1) return [r, g, b];
		}
		return [255, 255, 255];
	};
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
		if (!own || !e.checkVisibility() || e.closest(".stale, noscript, .skip, thead")) continue;
		const style = getComputedStyle(e);
		const color = parse(e instanceof SVGElement ? style.fill : style.color).slice(0, 3);
		const [low, high] = [luminance(color), luminance(behind(e))].sort((a, b) => a - b);
		const contrast = (high + 0.05) / (low + 0.05);
		if (contrast < 4.5) bad.push(contrast.toFixed(2) + " " + e.outerHTML.slice(0, 90));
	}
	return bad.join("\n");
})()`

// accessible checks that whoever cannot see the page is told what everything is.
func (tb *tab) accessible(name string) {
	tb.t.Helper()
	said := func(v *accessibility.Value) string {
		var text string
		if v != nil {
			_ = json.Unmarshal(v.Value, &text) // what is no text is nothing said
		}
		return text
	}
	named := map[string]bool{
		"button": true, "textbox": true, "searchbox": true, "spinbutton": true, "link": true, "image": true, "table": true,
		"columnheader": true, "rowheader": true, "heading": true,
	}
	seen := map[string]int{}
	for _, node := range call(tb, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if node.Ignored {
			continue
		}
		role := said(node.Role)
		seen[role]++
		if named[role] && strings.TrimSpace(said(node.Name)) == "" {
			tb.t.Errorf("%s: a %s has no name", name, role)
		}
	}
	for _, role := range []string{"banner", "main", "heading", "table", "rowheader", "cell", "textbox", "spinbutton", "status", "image"} {
		if seen[role] == 0 {
			tb.t.Errorf("%s: there is no %s; there are %v", name, role, seen)
		}
	}
}

func showsNewJob(t *testing.T, b *browser) {
	store := memory.New()
	store.Set("mail", memory.State{})
	bed := serve(t, scaler.Access{}, source(t, "jobs", store))
	tb := b.open(t, bed.loopback().URL)
	ready := `document.querySelector("#queues td[data-label=Ready]")?.textContent`
	tb.wait(ready + ` === "0" && document.querySelector("#status").textContent === "Live"`)
	eval[int](tb, `window.marker = 1`)
	store.Enqueue("mail", 7)
	tb.wait(ready + ` === "7" && document.title === "7 ready · leadsman"`)
	bed.poll(bed.keda(), &pb.ScaledObjectRef{Namespace: "team", Name: "worker", ScalerMetadata: map[string]string{"queue": "mail", "target": "3"}})
	tb.wait(`document.querySelector("#triggers tbody")?.innerText.includes("7 / 3")`)
	store.Claim("mail", 7)
	tb.wait(`document.querySelector("#queues td[data-label=Running]").textContent === "7"`)
	if eval[int](tb, `window.marker ?? 0`) != 1 {
		t.Error("the page was loaded again")
	}
}

func explains(t *testing.T, b *browser) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 42})
	tb := b.open(t, serve(t, scaler.Access{}, source(t, "jobs", store)).loopback().URL)
	tb.wait(`document.querySelector("#status").textContent === "Live"`)
	answer := `document.querySelector("#explained").innerText`
	tb.do(chromedp.SendKeys("#explain-text", "queue: mail\ntarget: 10"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	tb.wait(answer + `.includes("5 replicas") && ` + answer + `.includes("value 42 / target 10")`)
	tb.do(chromedp.SendKeys("#explain-text", "\nqueu: mail"), chromedp.Click("#explain-form button[type=submit]"))
	tb.wait(answer + `.includes("KEDA would be refused") && ` + answer + `.includes('metadata key "queu"')`)
	tb.do(chromedp.SetValue("#explain-text", "url: http://leadsman:8080/api/scaler/jobs/mail\nvalueLocation: metricValue\ntargetValue: 6"),
		chromedp.Click("#explain-form button[type=submit]"))
	tb.wait(answer + `.includes("7 replicas") && ` + answer + `.includes("value 42 / target 6")`)
	tb.wait(answer + `.includes("GET /api/scaler/jobs/mail is answered 200, with 42 at metricValue")`)
	tb.do(chromedp.SetValue("#explain-text", "url: http://leadsman:8080/api/scaler/job\nvalueLocation: metricValue\ntargetValue: 6"),
		chromedp.Click("#explain-form button[type=submit]"))
	tb.wait(answer + `.includes("KEDA would be refused") && ` + answer + `.includes("answered 404 not_found")`)
	tb.do(chromedp.Click("#explain-example"))
	tb.wait(`document.querySelector("#explain-text").value.includes("kind: ScaledObject")`)
	tb.do(chromedp.Click("#explain-form button[type=submit]"))
	tb.wait(answer + `.includes("ScaledObject worker") && ` + answer + `.includes("spec.triggers[0]")`)
}

func signsInAndOut(t *testing.T, b *browser) {
	store := memory.New()
	store.Set("mail-a", memory.State{Ready: 1})
	store.Set("secret", memory.State{Ready: 1})
	token, grant := mint(t, scaler.Grant{ID: "person", Scopes: []scaler.Scope{scaler.ScopeInspect}, Queues: []string{"mail-*"}})
	_, other := mint(t, scaler.Grant{ID: "other"})
	bed := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", store))
	tb := b.open(t, bed.loopback().URL, "401 (Unauthorized)") // the browser writes of each
	const out = `!document.querySelector("#sign-in").hidden && document.querySelector("#shown").hidden`
	const in = `!document.querySelector("#shown").hidden && document.querySelectorAll("#queues tbody").length === 1`
	enter := func(token string) {
		tb.do(chromedp.SendKeys("#token", token), chromedp.KeyEvent(kb.Enter))
	}
	tb.wait(out)
	tb.shoot("sign-in")
	enter("ldm_wrong_0000")
	tb.wait(`document.querySelector("#sign-in-error").textContent.includes("does not take this token")`)
	enter(token)
	tb.wait(in)
	if text := eval[string](tb, `document.body.innerText + location.href + document.cookie + JSON.stringify(localStorage)`); strings.Contains(text, "secret") ||
		strings.Contains(text, token) || !strings.Contains(text, "person") {
		t.Errorf("the page says %s", text)
	}
	tb.do(chromedp.Reload())
	tb.wait(in)
	tb.do(chromedp.Click("#sign-out"))
	tb.wait(out)
	if left := eval[string](tb, `JSON.stringify(sessionStorage) + document.querySelector("#shown").textContent`); strings.Contains(left, "mail-a") || strings.Contains(left, "ldm_") {
		t.Errorf("after signing out there is %s", left)
	}
	enter(token)
	tb.wait(in)
	if err := bed.server.SetAccess(scaler.Access{Tokens: []scaler.Token{other}}); err != nil {
		t.Fatal(err)
	}
	tb.wait(out)
}

func isUsedByKeyboard(t *testing.T, b *browser) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	tb := b.open(t, serve(t, scaler.Access{}, source(t, "jobs", store)).loopback().URL)
	tb.wait(`document.querySelectorAll("#queues tbody").length === 1`)
	const focused = `document.activeElement.id || document.activeElement.className || document.activeElement.textContent`
	var order []string
	for range 7 {
		tb.do(chromedp.KeyEvent(kb.Tab))
		order = append(order, eval[string](tb, focused))
		if eval[bool](tb, `document.activeElement.matches("button.name")`) {
			tb.do(chromedp.KeyEvent(kb.Enter))
			tb.wait(`document.activeElement.getAttribute("aria-expanded") === "true" && document.querySelector(".chart")`)
		}
	}
	if got := fmt.Sprint(order); got != "[skip name explain-example explain-text explain-current explain-namespace Explain]" {
		t.Errorf("the order of Tab is %s", got)
	}
	tb.do(chromedp.Navigate(tb.base))
	tb.wait(`document.querySelectorAll("#queues tbody").length === 1`)
	for _, key := range []string{kb.Tab, kb.Enter, kb.Tab} {
		tb.do(chromedp.KeyEvent(key))
	}
	if got := eval[string](tb, focused); got != "explain-example" {
		t.Errorf("after the skip link, Tab comes to %q", got)
	}
}

func comesBack(t *testing.T, b *browser) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	bed := serve(t, scaler.Access{}, source(t, "jobs", store))
	loopback := bed.loopback()
	tb := b.open(t, loopback.URL, "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION")
	const live = `document.querySelector("#status").textContent === "Live"`
	for n := int64(2); n < 5; n++ {
		tb.wait(live)
		loopback.CloseClientConnections()
		store.Enqueue("mail", 1)
		tb.wait(fmt.Sprintf(`document.querySelector("#queues td[data-label=Ready]")?.textContent === "%d"`, n))
	}
	tb.wait(live)
}

// Whoever can make a queue can name it.
func showsNamesAsText(t *testing.T, b *browser) {
	const hostile = `<img src=x onerror="window.broken = 1"><script>window.broken = 1</script>`
	store := memory.New()
	store.Set(hostile, memory.State{Ready: 1})
	store.Set(strings.Repeat("long", 60), memory.State{Ready: 1, Due: []time.Duration{time.Hour}})
	tb := b.open(t, serve(t, scaler.Access{}, source(t, "jobs", store)).loopback().URL)
	tb.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	tb.wait(`document.querySelectorAll("#queues tbody").length === 2`)
	if got := eval[string](tb, `document.querySelector("#queues button.name").textContent`); got != hostile {
		t.Errorf("the name is %q", got)
	}
	if eval[bool](tb, `Boolean(window.broken || document.querySelector("#queues img"))`) {
		t.Error("a name is taken for HTML")
	}
	if wide := eval[string](tb, tooWide); wide != "" {
		t.Errorf("wider than the screen: %s", wide)
	}
}
