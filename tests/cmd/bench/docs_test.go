package main

import (
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
	for _, name := range []string{pageFile, fleetFile} {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name),
			[]byte("before\n"+tableBegin+"\nold\n"+tableEnd+"\nafter\n"), 0o600))
	}
	// A run of another section leaves the first one's figures there.
	for _, name := range []string{"scale", "single"} {
		check.NoError(t, sampleResult(name).document(dir))
	}
	content, err := os.ReadFile(page)
	check.NoError(t, err)
	text := string(content)
	check.That(t,
		strings.HasPrefix(text, "before\n"+tableBegin) && strings.HasSuffix(text, tableEnd+"\nafter\n") &&
			!strings.Contains(text, "old"), "the page is not the table between what was there:\n%s", text)
	single, scale := strings.Index(text, "**single**"), strings.Index(text, "**scale**")
	check.That(t, single >= 0 && scale >= single, "want section single, then scale:\n%s", text)
}

// The page about fleets has the figures of the last run.
func TestTheFleetPageHasTheFigures(t *testing.T) {
	const docs = "../../../docs"
	r, err := readResult(filepath.Join(docs, resultFile))
	check.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(docs, fleetFile))
	check.NoError(t, err)
	want, err := between(page, r.fleet())
	check.NoError(t, err)
	check.Equal(t, string(page), string(want), "docs/%s has other figures than docs/%s:\n%s", fleetFile, resultFile, want)
	if !strings.Contains(r.fleet(), "1000 releases, 50000 objects") {
		t.Errorf("figures are missing:\n%s", r.fleet())
	}
}
