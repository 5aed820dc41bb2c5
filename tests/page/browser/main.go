// Command browser drives a headless Chromium for the tests of this directory's parent: it reads one JSON object a
// line, does what it says, and answers with one. It is a module of its own, so that chromedp is no dependency of
// the operator.
//
//	{"open": URL, "width": 1280, "height": 800, "dark": false}    a new address in the one tab
//	{"reload": true}                                              the same address once more; answered when it is loaded
//	{"eval": EXPRESSION}                                          its value; of a promise, what it resolves to
//	{"key": "Tab"}                                                a key press: a name of a key, or a character
//	{"screenshot": FILE, "screen": false}                         a PNG of the whole document, or of the part on the screen
//	{"trace": true}                                               begins a performance trace
//	{"traced": true}                                              ends it: what the page's main thread did, see work
//	{"problems": true}                                            what the console said since the start that nobody wants to read
//
// An answer is {"value": ...} or {"error": "..."}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: browser CHROMIUM")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// stepTimeout bounds one command.
const stepTimeout = 60 * time.Second

type command struct {
	Open       string
	Width      int64
	Height     int64
	Dark       bool
	Reload     bool
	Eval       string
	Key        string
	Screenshot string
	Screen     bool
	Trace      bool
	Traced     bool
	Problems   bool
}

type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

func run(ctx context.Context, chromium string, in io.Reader, out io.Writer) error {
	data, err := os.MkdirTemp("", "helm-locker-browser-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(data) }()
	allocator, cancel := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(chromium), chromedp.UserDataDir(data),
		chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.WSURLReadTimeout(stepTimeout),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true))
	defer cancel()
	tab, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	defer cancel()
	d := &driver{tab: tab}
	chromedp.ListenTarget(tab, d.heard)
	if err := chromedp.Run(tab); err != nil {
		return fmt.Errorf("start %s: %w", chromium, err)
	}
	answers := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("command: %w", err)
		}
		value, err := d.do(c)
		a := answer{Value: value}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return shut(tab)
}

// shut asks Chromium to end, and waits for it. A killed Chromium leaves its directory of sockets behind, and its
// helpers outlive it and write into its removed data directory.
func shut(tab context.Context) error {
	ctx, cancel := context.WithTimeout(tab, stepTimeout)
	defer cancel()
	if err := chromedp.Cancel(ctx); err != nil {
		return fmt.Errorf("end Chromium: %w", err)
	}
	return nil
}

type driver struct {
	tab context.Context

	mu       sync.Mutex
	problems []string
	recorded []traceEvent
	complete chan struct{} // closed at the end of a trace
}

// heard collects errors and warnings of the console, and exceptions. Violations of the page's policy are among the
// errors. That a connection broke is none: tests break some.
func (d *driver) heard(event any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Source != log.SourceNetwork &&
			(e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning) {
			d.problems = append(d.problems, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	case *tracing.EventDataCollected:
		d.record(e.Value)
	case *tracing.EventTracingComplete:
		close(d.complete)
	case *runtime.EventExceptionThrown:
		d.problems = append(d.problems, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			d.problems = append(d.problems, fmt.Sprintf("console.%s", e.Type))
		}
	}
}

func (d *driver) do(c command) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(d.tab, stepTimeout)
	defer cancel()
	switch {
	case c.Open != "":
		scheme := "light"
		if c.Dark {
			scheme = "dark"
		}
		return nil, chromedp.Run(ctx, log.Enable(), chromedp.EmulateViewport(c.Width, c.Height),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
				Value: scheme}}), chromedp.Navigate(c.Open))
	case c.Reload:
		return nil, chromedp.Run(ctx, chromedp.Reload())
	case c.Eval != "":
		var value json.RawMessage
		err := chromedp.Run(ctx, chromedp.Evaluate(c.Eval, &value,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
				return p.WithAwaitPromise(true).WithReturnByValue(true)
			}))
		return value, err
	case c.Key != "":
		named := map[string]string{"Tab": kb.Tab, "Enter": kb.Enter, "Escape": kb.Escape,
			"ArrowDown": kb.ArrowDown, "ArrowUp": kb.ArrowUp}
		if key, found := named[c.Key]; found {
			c.Key = key
		}
		return nil, chromedp.Run(ctx, chromedp.KeyEvent(c.Key))
	case c.Screenshot != "":
		var picture []byte
		shoot := chromedp.FullScreenshot(&picture, 100)
		if c.Screen {
			shoot = chromedp.CaptureScreenshot(&picture)
		}
		if err := chromedp.Run(ctx, shoot); err != nil {
			return nil, err
		}
		return nil, os.WriteFile(c.Screenshot, picture, 0o644)
	case c.Trace:
		return nil, d.trace(ctx)
	case c.Traced:
		return d.traced(ctx)
	case c.Problems:
		d.mu.Lock()
		defer d.mu.Unlock()
		return json.Marshal(append([]string{}, d.problems...))
	}
	return nil, errors.New("a command that says nothing")
}
