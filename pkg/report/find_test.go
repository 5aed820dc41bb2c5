package report

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// spent returns how many MiB do allocates, all of them: a measure of the work that depends on no clock.
func spent(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// A megabyte that quotes twenty thousand values is masked in one pass, and not in one for each value.
func TestMaskingIsLinear(t *testing.T) {
	var secret, text strings.Builder
	secret.WriteString("kind: Secret\nstringData:\n")
	for i := range 20_000 {
		fmt.Fprintf(&secret, "  key-%d: value-%d-of-many-that-are-secret\n", i, i)
		fmt.Fprintf(&text, "line %d has value-%d-of-many-that-are-secret\n", i, i)
	}
	m := NewMasker(key)
	var masked string
	if mib := spent(func() {
		values, err := ValuesIn(secret.String())
		check.NoError(t, err)
		masked = m.Text(text.String(), values)
	}); mib > 300 {
		t.Errorf("%d MiB to mask %d KiB", mib, text.Len()>>10)
	}
	check.That(t,
		!strings.Contains(masked, "of-many-that-are-secret") &&
			strings.HasPrefix(masked, "line 0 has "+m.Mark("value-0-of-many-that-are-secret")+"\n"), "masked is %.100s", masked)
	mib := spent(func() { masked = m.Manifest(text.String()) })
	check.That(t, mib <= 100, "%d MiB to cut %d KiB of short lines into documents", mib, text.Len()>>10)
	mib = spent(func() { masked = m.Manifest(strings.Repeat("---\n", 4<<20)) })
	check.That(t, mib <= 100 && masked == withheld, "%d MiB for four million separators: %.100s", mib, masked)
	mib = spent(func() { masked = m.Manifest("a: [" + strings.Repeat("{},", 5<<20) + "]\n") })
	check.That(t, mib <= 100 && masked == withheld, "%d MiB for five million elements: %.100s", mib, masked)
}

func TestLongValuesAreFoundInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	long := make([]byte, 3*pieceBytes+17)
	for i := range long {
		long[i] = 'a' + byte(random.IntN(26))
	}
	value := string(long)
	f := newFinder(map[string]string{value: "value", "hunter2": "short"})
	with := func(value string) string { return "<" + value + ">" }
	for name, test := range map[string]struct{ text, want string }{
		"all of it":     {"it is " + value + ", is it", "it is <value>, is it"},
		"most of it":    {"it is " + value[:2*pieceBytes] + ", is it", "it is <value>, is it"},
		"its end":       {"..." + value[len(value)-pieceBytes:] + "...", "...<value>..."},
		"twice":         {value + " " + value, "<value> <value>"},
		"beside others": {"hunter2" + value + "hunter2hunter2", "<short><value><short><short>"},
	} {
		got := f.replace(test.text, with)
		check.That(t, got == test.want, "%s: got %.100s of %d bytes, want %s", name, got, len(got), test.want)
	}
}

// The search for several texts finds the same as a search for each alone, taken together.
func TestFindsAreThoseOfASearchForEachText(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(most int) string {
		b := make([]byte, 1+random.IntN(most))
		for i := range b {
			b[i] = "ab"[random.IntN(2)]
		}
		return string(b)
	}
	for range 2000 {
		texts := map[string]string{}
		for range random.IntN(6) {
			found := word(9)
			texts[found] = found
		}
		text := word(60)
		covered := make([]bool, len(text))
		for found := range texts {
			for at := 0; len(found) >= shortest && at+len(found) <= len(text); at++ {
				if strings.HasPrefix(text[at:], found) {
					for i := range found {
						covered[at+i] = true
					}
				}
			}
		}
		got := make([]bool, len(text))
		for _, d := range newFinder(texts).all(text) {
			for i := d.start; i < d.end; i++ {
				got[i] = true
			}
		}
		check.Must(t, fmt.Sprint(got) == fmt.Sprint(covered), "%q in %q: %v, want %v", texts, text, got, covered)
	}
}
