package evidence

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// contents returns the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := Files(os.DirFS(dir))
	check.NoError(t, err)
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check.NoError(t, err)
		all[name] = string(text)
	}
	return all
}

// A file that is followed by another one never changes, whatever comes: it may have been copied.
func TestAFileThatEndedGetsNoMoreLines(t *testing.T) {
	dir, by := t.TempDir(), clocktesting.NewFakeClock(start)
	log := open(t, dir, by)
	ended := map[string]string{}
	end := func(age time.Duration, does bool) {
		t.Helper()
		digest, err := log.End(age)
		check.NoError(t, err)
		check.Equal(t, digest != "", does, "the digest at the end of the file is %q", digest)
		all := contents(t, dir)
		names := slices.Sorted(maps.Keys(all))
		for i, name := range names {
			if i == len(names)-1 {
				continue
			}
			if before, known := ended[name]; known && before != all[name] {
				t.Errorf("%s has ended and is another one now", name)
			}
			ended[name] = all[name]
		}
	}
	end(0, false) // no file
	add(t, log, changed(1))
	end(time.Hour, false) // not old enough
	by.Step(time.Hour)
	end(time.Hour, true)
	end(0, false) // no line
	add(t, log, changed(2))
	end(0, true)
	check.NoError(t, log.Close())
	log = open(t, dir, by)
	add(t, log, changed(3))
	check.NoError(t, log.Close())
	log = open(t, dir, by)
	end(time.Hour, true) // of an earlier process
	by.Step(24 * time.Hour)
	add(t, log, changed(4))
	end(0, true)
	got := len(ended)
	check.That(t, got == 5, "%d files have ended: %v", got, ended)
	chain := expect(t, dir, "1", "2", "3", "4")
	check.That(t, chain.Files == 4, "%d files have lines", chain.Files)
}

// A process that starts again gets the lines of two days, however many files these have.
func TestTheLinesOfTwoDaysAreReadAgain(t *testing.T) {
	dir, by := t.TempDir(), clocktesting.NewFakeClock(start)
	log := open(t, dir, by)
	for n := range 4 {
		for i := range 3 {
			add(t, log, changed(10*n+i))
			_, err := log.End(0)
			check.NoError(t, err)
		}
		by.Step(24 * time.Hour)
	}
	check.NoError(t, log.Close())
	var got []string
	log, err := Open(dir, "prod", by, func(l *Line) { got = append(got, l.ID) })
	check.NoError(t, err)
	check.NoError(t, log.Close())
	check.Equal(t, strings.Join(got, " "), "lease-1-20 lease-1-21 lease-1-22 lease-1-30 lease-1-31 lease-1-32",
		"the lines")
}

// A disk may take the end of a line that is not complete, and not the line about it: the next attempt writes that.
func TestTheEndOfATornLineIsNoCompleteLine(t *testing.T) {
	dir, by := t.TempDir(), clocktesting.NewFakeClock(start)
	log := open(t, dir, by)
	add(t, log, changed(1))
	check.NoError(t, log.Close())
	for name, text := range contents(t, dir) {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+text[:40]+"\n"), 0o600))
	}
	log = open(t, dir, by)
	add(t, log, changed(2))
	check.NoError(t, log.Close())
	expect(t, dir, "1", string(LineTorn), "2")
}
