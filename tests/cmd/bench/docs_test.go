package main

import (
	"encoding/xml"
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
		if text := string(file); xml.Unmarshal(file, new(any)) != nil || strings.Contains(text, "NaN") ||
			strings.Contains(text, "Inf") {
			t.Errorf("%s is no picture, or has values that are none", name)
		}
	}
}
