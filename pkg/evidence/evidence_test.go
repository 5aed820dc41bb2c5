package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var start = time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)

func changed(n int) *Line {
	return &Line{ID: fmt.Sprint("lease-1-", n), Type: message.LockChanged, Lease: "locker", Data: Data{Message: message.Message{
		Release: &message.Reference{Namespace: "apps", Name: "shop"}, Lock: &message.Lock{Locked: true, Revision: n}}}}
}

func open(t *testing.T, dir string, by *clocktesting.FakeClock) *Log {
	t.Helper()
	log, err := Open(dir, "prod", by, func(*Line) {})
	check.NoError(t, err)
	return log
}

func add(t *testing.T, log *Log, lines ...*Line) {
	t.Helper()
	_, err := log.Append(lines...)
	check.NoError(t, err)
}

// read returns the revisions of the lines, and the reasons of the gaps.
func read(t *testing.T, dir string) (*Chain, []string) {
	t.Helper()
	var got []string
	chain, err := Read(os.DirFS(dir), func(l *Line) error {
		switch {
		case l.Data.Lock != nil:
			got = append(got, fmt.Sprint(l.Data.Lock.Revision))
		case l.Data.Gap != nil:
			got = append(got, string(l.Data.Gap.Reason))
		}
		return nil
	})
	check.NoError(t, err)
	return chain, got
}

func expect(t *testing.T, dir string, want ...string) *Chain {
	t.Helper()
	chain, got := read(t, dir)
	check.That(t, slices.Equal(got, want) && chain.Broken == "", "the lines are %v, want %v; broken: %q", got, want,
		chain.Broken)
	return chain
}

// Days and sizes begin files, and a process goes on where another one ended.
func TestLinesAreKeptOverDaysSizesAndProcesses(t *testing.T) {
	dir, by := filepath.Join(t.TempDir(), "new", "evidence"), clocktesting.NewFakeClock(start)
	log := open(t, dir, by)
	add(t, log, changed(1), changed(2))
	by.Step(24 * time.Hour)
	add(t, log, changed(3))
	check.NoError(t, log.Close())
	log = open(t, dir, by)
	add(t, log, changed(4))
	log.max = 10
	add(t, log, changed(5))
	chain := expect(t, dir, "1", "2", "3", "4", "5")
	check.That(t, chain.Files == 3 && chain.Lines == 5 && chain.Begins == "", "the chain is %+v", chain)
	names, err := Files(os.DirFS(dir))
	check.NoError(t, err)
	want := []string{"evidence-00000001-20261001.jsonl", "evidence-00000002-20261002.jsonl",
		"evidence-00000003-20261002.jsonl"}
	check.That(t, slices.Equal(names, want), "the files are %v", names)
	// The rule, as a third party checks it.
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check.NoError(t, err)
		all = append(all, text...)
	}
	previous := strings.Repeat("0", 64)
	for scanner := bufio.NewScanner(bytes.NewReader(all)); scanner.Scan(); {
		var l struct{ Previous, Cluster, SpecVersion string }
		check.NoError(t, json.Unmarshal(scanner.Bytes(), &l))
		check.That(t, l.Previous == previous && l.Cluster == "prod" && l.SpecVersion == "1.0", "want %s before %s", previous,
			scanner.Text())
		previous = fmt.Sprintf("%x", sha256.Sum256(scanner.Bytes()))
	}
	check.That(t, previous == chain.Head, "the head is %s, want %s", chain.Head, previous)
	check.NoError(t, os.Remove(filepath.Join(dir, names[0])))
	chain = expect(t, dir, "3", "4", "5")
	check.That(t, chain.Begins != "", "the missing first file is not named")
}

// A process that is killed leaves a part of a line, at any byte of it. The next one names the gap.
func TestALineThatIsNotCompleteIsAGap(t *testing.T) {
	whole := t.TempDir()
	log := open(t, whole, clocktesting.NewFakeClock(start))
	add(t, log, changed(1), changed(2))
	name := "evidence-00000001-20261001.jsonl"
	text, err := os.ReadFile(filepath.Join(whole, name))
	check.NoError(t, err)
	first := bytes.IndexByte(text, '\n') + 1
	for length := 0; length <= len(text); length++ {
		if length%41 > 0 && length < len(text)-2 && (length < first-2 || length > first+2) {
			continue // a sync of a disk takes its time
		}
		dir := t.TempDir()
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), text[:length], 0o600))
		log := open(t, dir, clocktesting.NewFakeClock(start))
		add(t, log, changed(3))
		check.NoError(t, log.Close())
		var want []string
		if length >= first-1 { // only the line end is missing
			want = append(want, "1")
		}
		if length >= len(text)-1 {
			want = append(want, "2")
		}
		if length != 0 && length != first && length != len(text) {
			want = append(want, string(LineTorn))
		}
		expect(t, dir, append(want, "3")...)
	}
}

// Each line that is changed, removed, moved or added is found, and the first one is named.
func TestTamperingIsFound(t *testing.T) {
	by := clocktesting.NewFakeClock(start)
	whole := t.TempDir()
	log := open(t, whole, by)
	for n := range 6 {
		add(t, log, changed(n+1))
		by.Step(10 * time.Hour) // two days, two or three lines each
	}
	names, err := Files(os.DirFS(whole))
	check.NoError(t, err)
	for what, tamper := range map[string]func(file int, lines []string) []string{
		"changed": func(file int, lines []string) []string {
			if file == 1 {
				lines[0] = strings.Replace(lines[0], `"locked":true`, `"locked":false`, 1)
			}
			return lines
		},
		"removed": func(file int, lines []string) []string { return lines[min(file, 1):] },
		"moved": func(_ int, lines []string) []string {
			lines[0], lines[1] = lines[1], lines[0]
			return lines
		},
		"added twice": func(_ int, lines []string) []string { return append(lines[:1:1], lines...) },
		"damaged": func(file int, lines []string) []string {
			if file == 1 {
				lines[0] = lines[0][:20] + "\n"
			}
			return lines
		},
		"a file": func(file int, lines []string) []string {
			if file == 1 {
				return nil
			}
			return lines
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			for file, name := range names {
				text, err := os.ReadFile(filepath.Join(whole, name))
				check.NoError(t, err)
				lines := tamper(file, strings.SplitAfter(strings.TrimSpace(string(text))+"\n", "\n"))
				check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "")), 0o600))
			}
			chain, got := read(t, dir)
			check.That(t, chain.Broken != "" && len(got) != 6, "it is not found: %v, %+v", got, chain)
		})
	}
}

// A write that fails leaves the chain whole.
func TestAFailedWriteIsFollowedByTheNextOne(t *testing.T) {
	dir := t.TempDir()
	log := open(t, dir, clocktesting.NewFakeClock(start))
	add(t, log, changed(1))
	check.NoError(t, log.file.Close())
	_, err := log.Append(changed(2))
	check.Must(t, err != nil, "a closed file takes a line")
	add(t, log, changed(3))
	expect(t, dir, "1", "3")
}

// Two chains in one directory would fork. The end of the first process makes room, and that of a file does not.
func TestADirectoryIsForOneProcess(t *testing.T) {
	dir, by := t.TempDir(), clocktesting.NewFakeClock(start)
	log := open(t, dir, by)
	second := func() error {
		other, err := Open(dir, "prod", by, func(*Line) {})
		if err != nil {
			return err
		}
		return other.Close()
	}
	for _, step := range []func(){
		func() {}, func() { add(t, log, changed(1)) },
		func() { by.Step(24 * time.Hour); add(t, log, changed(2)) },
		func() { check.NoError(t, log.file.Close()); _, _ = log.Append(changed(3)) },
	} {
		step()
		err := second()
		check.Must(t, errors.Is(err, ErrInUse), "a second log opens: %v", err)
	}
	check.NoError(t, log.Close())
	check.NoError(t, second())
	add(t, log, changed(4))
	expect(t, dir, "1", "2", "4")
}
