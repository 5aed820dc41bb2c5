package history

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var now = time.Date(2026, 11, 28, 14, 30, 0, 0, time.UTC)

func all(string) bool { return true }

func change(release, author string, ago time.Duration, id int) Change {
	return Change{Release: release, Author: author, Time: now.Add(-ago), ID: fmt.Sprint(id)}
}

func TestBarsAreGolden(t *testing.T) {
	d := New()
	for i := range 3 {
		d.Add(now, change("apps/shop", "kubectl-edit", time.Hour, i))
	}
	d.Add(now, change("apps/shop", "hpa as <b>", 0, 9))
	got := d.Chart(now, all).Releases.Rows[0]
	const want = `<svg class="bars" role="img" viewBox="0 0 240 31" preserveAspectRatio="none"><title>apps/shop</title>` +
		`<desc>Changes in the hours from, UTC: 13:00 3, 14:00 1</desc>` +
		`<path d="M0 30.5H240" fill="none" stroke="currentColor" stroke-width="1"/>` +
		`<rect x="221" y="0" width="8" height="30" fill="currentColor"><title>13:00 to 14:00: 3</title></rect>` +
		`<rect x="231" y="20" width="8" height="10" fill="currentColor"><title>14:00 to 15:00: 1</title></rect></svg>`
	if got.SVG() != want || got.Peak != "most at 13:00: 3" ||
		strings.Join(got.With, "; ") != "kubectl-edit 3; hpa as <b> 1" {
		t.Errorf("%s\n%+v", got.SVG(), got)
	}
}

// Heights are in proportion to the counts, and the counts of all rows add up.
func TestHeightsAddUpToCounts(t *testing.T) {
	d, n := New(), 0
	for release := range 5 {
		for h := range Hours {
			for range (release*7+h*3)%10 + 3 {
				n++
				d.Add(now, change(fmt.Sprint("apps/r", release), fmt.Sprint("a", n%3), time.Duration(h)*time.Hour, n))
			}
		}
	}
	c := d.Chart(now, all)
	for _, g := range []Group{c.Releases, c.Authors} {
		total, most, sum := 0, 0, 0.0
		for _, r := range g.Rows {
			total += r.Total
			for _, b := range r.Bars {
				count := 0
				_, err := fmt.Sscanf(b.Text[strings.LastIndex(b.Text, " ")+1:], "%d", &count)
				check.NoError(t, err)
				most = max(most, count)
				sum += b.Height
				check.That(t,
					!(math.Abs(b.Y+b.Height-height) > 0.001) && !(b.Height < least) && b.X >= 0 &&
						b.X+barWidth <= Hours*slot,
					"a bar is outside of the picture: %+v", b)
			}
		}
		scale := 0
		for _, all := range []Group{c.Releases, c.Authors} {
			for _, r := range all.Rows {
				peak := 0
				_, err := fmt.Sscanf(r.Peak[strings.LastIndex(r.Peak, " ")+1:], "%d", &peak)
				check.NoError(t, err)
				scale = max(scale, peak)
			}
		}
		if total != n || c.Total != n || most == 0 || math.Abs(sum*float64(scale)/height-float64(n)) > 0.02*float64(n) {
			t.Errorf("%d changes are drawn as %d, and as heights of %.1f", n, total, sum*float64(scale)/height)
		}
	}
}

func TestADayIsBounded(t *testing.T) {
	d := New()
	for i := range 10 * mostPairs {
		d.Add(now, change(fmt.Sprint("apps/r", i), fmt.Sprint("a", i), 0, i))
	}
	for _, h := range d.hours {
		check.That(t, len(h.pairs) <= mostPairs, "an hour has %d pairs", len(h.pairs))
	}
	check.That(t, len(d.known) <= mostReleases, "%d releases are known", len(d.known))
	c := d.Chart(now, all)
	check.That(t,
		len(c.Releases.Rows) == mostRows && strings.HasPrefix(c.Releases.More, "and 990 more releases") &&
			len(c.Notes) == 1 && strings.HasPrefix(c.Notes[0], "9000 more changes"), "%d rows, %s, %q", len(c.Releases.Rows),
		c.Releases.More, c.Notes)
	later := now.Add(25 * time.Hour)
	got := d.Chart(later, all)
	check.That(t, got == nil && len(d.hours) == 0, "changes of yesterday are kept: %+v", got)
}

// A stream reports a change, and the status repeats it: it counts once. A denied request changed nothing.
func TestAChangeCountsOnce(t *testing.T) {
	d := New()
	record := v1alpha1.DriftRecord{Time: metav1.NewMicroTime(now), FieldManager: "m", User: "system:sa (Pod p-1)"}
	c, ok := Of("apps/shop", &record)
	check.That(t, ok && c.Author == "m as system:sa", "the change is %+v", c)
	d.Remember(now, c)
	d.Add(now, c)
	d.Remember(now, c)
	for i := range 3 * mostKnown { // the known changes are forgotten in time
		d.Add(now, Change{"apps/shop", "m", now.Add(time.Duration(i+1) * time.Second), "x"})
	}
	d.Remember(now, c)
	got := d.Chart(now, all).Total
	check.That(t, got == 3*mostKnown+1, "%d changes are counted", got)
	record.Action = v1alpha1.DriftActionDenied
	_, ok = Of("apps/shop", &record)
	check.That(t, !ok, "a denied request is a change")
}

func TestNamesAreNeutralAndShort(t *testing.T) {
	d := New()
	for i, author := range []string{"<script>alert(1)</script>", "a\u202eb\x1b[2J\n", strings.Repeat("long", 75), "\"'&"} {
		d.Add(now, change("apps/"+author, author, 0, i))
	}
	c := d.Chart(now, all)
	text, err := json.Marshal(c)
	check.NoError(t, err)
	for _, r := range append(c.Releases.Rows, c.Authors.Rows...) {
		text = append(text, r.SVG()...)
		if len(r.Name) > mostName || strings.Contains(r.SVG(), "<script") {
			t.Errorf("%s", r.SVG())
		}
	}
	for _, bad := range []string{"\u202e", "\x1b", "\n"} {
		check.That(t, !strings.Contains(string(text), bad), "%q is in %s", bad, text)
	}
}

func TestOnlyShownReleasesAndTheirAuthorsAreNamed(t *testing.T) {
	d := New()
	d.Add(now, change("apps/shop", "jane", 0, 1))
	d.Add(now, change("secret/vault", "mallory", 0, 2))
	text, err := json.Marshal(d.Chart(now, func(release string) bool { return release == "apps/shop" }))
	check.That(t, err == nil && !strings.Contains(string(text), "vault") && !strings.Contains(string(text), "mallory"),
		"%v: %s", err, text)
}
