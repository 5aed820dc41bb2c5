package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/process"
)

func sampleResult(name string) *result {
	r := &result{Machine: machine{Processor: "<any & all>"}}
	s := r.begin(name)
	times := []time.Duration{time.Millisecond, 5 * time.Millisecond, 40 * time.Millisecond}
	s.latency(singleDrift, times, times)
	s.requests(singleDrift, requests{"list secrets": 1}, 1)
	s.scale(points(1), process.Resident{})
	return r
}

func TestTheResultIsDocumented(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, pageFile)
	check.NoError(t, os.WriteFile(page, []byte("before\n"+tableBegin+"\nold\n"+tableEnd+"\nafter\n"), 0o600))
	// A run of another section leaves the first one's figures there.
	for _, name := range []string{"scale", "single"} {
		check.NoError(t, sampleResult(name).document(dir))
	}
	content, err := os.ReadFile(page)
	check.NoError(t, err)
	text := string(content)
	if !strings.HasPrefix(text, "before\n"+tableBegin) || !strings.HasSuffix(text, tableEnd+"\nafter\n") ||
		strings.Contains(text, "old") {
		t.Errorf("the page is not the table between what was there:\n%s", text)
	}
	single, scale := strings.Index(text, "**single**"), strings.Index(text, "**scale**")
	if single < 0 || scale < single {
		t.Errorf("want section single, then scale:\n%s", text)
	}
	for _, name := range []string{latencyFile, scalingFile} {
		file, err := os.ReadFile(filepath.Join(dir, name))
		check.NoError(t, err)
		wellFormed(t, name, string(file))
		if strings.Contains(string(file), "NaN") || strings.Contains(string(file), "Inf") {
			t.Errorf("%s has values that are none", name)
		}
	}
}

func TestAPageWithoutMarkersIsLeftAlone(t *testing.T) {
	if _, err := between([]byte("a page"), "table"); err == nil {
		t.Error("a page without markers was taken")
	}
}

func wellFormed(t *testing.T, name, content string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(content))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestAxes(t *testing.T) {
	p := plot{logX: true, lines: []line{{x: []float64{3, 4000}, y: []float64{12, 47}}}}
	x, y := p.axis(true, func(l line) []float64 { return l.x }), p.axis(false, func(l line) []float64 { return l.y })
	if x.low != 2 || x.high != 5000 {
		t.Errorf("the logarithmic axis goes from %g to %g, want 2 to 5000", x.low, x.high)
	}
	if y.low != 0 || y.high != 50 {
		t.Errorf("the other axis goes from %g to %g, want 0 to 50", y.low, y.high)
	}
	if ticks := x.ticks(); ticks[0] != 10 || len(ticks) != 3 {
		t.Errorf("ticks are %v, want 10, 100, 1000", ticks)
	}
	if at := x.place(100); at < 0.49 || at > 0.51 {
		t.Errorf("100 is at %g, want the middle of 2 and 5000", at)
	}
}
