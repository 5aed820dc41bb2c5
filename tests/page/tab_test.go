package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// tab is one tab of a browser of its own.
type tab struct {
	*fixture
	in  io.Writer
	out *bufio.Reader
	// forgiven is how many problems a test has caused on purpose.
	forgiven int
}

// view is the display configuration of a tab.
type view struct {
	width, height int
	dark          bool
}

func desktop() view { return view{width: 1280, height: 800} }

// newTab starts a browser. At the end of the test its console must be empty: no exception, and no violation of the
// page's policy.
func (w *fixture) newTab() *tab {
	w.Helper()
	if chromium == "" {
		w.Skip("needs a browser: scripts/debian chromium installs one")
	}
	command := exec.Command(browser, chromium)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	check.NoError(w, err)
	out, err := command.StdoutPipe()
	check.NoError(w, err)
	check.NoError(w, command.Start())
	t := &tab{fixture: w, in: in, out: bufio.NewReader(out)}
	w.Cleanup(func() {
		for _, problem := range t.problems()[t.forgiven:] {
			t.Errorf("the console says: %s", problem)
		}
		check.Report(t, in.Close())
		if err := command.Wait(); err != nil {
			t.Errorf("browser: %v", err)
		}
	})
	return t
}

// do sends the browser a command, and returns the result.
func (t *tab) do(command map[string]any) (json.RawMessage, error) {
	t.Helper()
	encoded, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(t.in, "%s\n", encoded); err != nil {
		return nil, err
	}
	line, err := t.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the browser has ended: %w", err)
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%v: %s", command, answer.Error)
	}
	return answer.Value, nil
}

func (t *tab) must(command map[string]any) json.RawMessage {
	t.Helper()
	value, err := t.do(command)
	check.NoError(t, err)
	return value
}

func (t *tab) open(url string, v view) {
	t.Helper()
	t.must(map[string]any{"open": url, "width": v.width, "height": v.height, "dark": v.dark})
}

// reload loads the page again. The old document is gone when it returns.
func (t *tab) reload() {
	t.Helper()
	t.must(map[string]any{"reload": true})
}

func (t *tab) press(key string) {
	t.Helper()
	t.must(map[string]any{"key": key})
}

func (t *tab) problems() []string {
	t.Helper()
	var problems []string
	check.NoError(t, json.Unmarshal(t.must(map[string]any{"problems": true}), &problems))
	return problems
}

// forgive accepts the console's messages so far.
func (t *tab) forgive() { t.forgiven = len(t.problems()) }

// eval returns the value of an expression.
func eval[T any](t *tab, expression string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(t.must(map[string]any{"eval": expression}), &value); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits until an expression is true, and prints the text of the page after the timeout.
func (t *tab) until(what, expression string) {
	t.Helper()
	t.Eventually(what, func() error {
		if eval[bool](t, expression) {
			return nil
		}
		return fmt.Errorf("the page says:\n%s", eval[string](t, "document.body.innerText"))
	})
}

// says waits until the element of a selector has all these texts.
func (t *tab) says(selector string, texts ...string) {
	t.Helper()
	var conditions []string
	for _, text := range texts {
		conditions = append(conditions, fmt.Sprintf("e.innerText.includes(%s)", encode(t.TB, text)))
	}
	t.until(fmt.Sprintf("%s says %q", selector, texts),
		fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && %s)",
			encode(t.TB, selector), strings.Join(conditions, " && ")))
}
