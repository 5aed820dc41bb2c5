package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The tiles of an HTML report filter its releases, and open the fold, without a script.
func TestTilesFilterAReport(t *testing.T) {
	w := &fixture{Env: kit.New(t, kit.Shared)}
	drift := report.ObjectDrift{Object: report.Object{Kind: "ConfigMap", Name: "x"}, State: "Missing", What: "it does not exist"}
	text, err := report.NewDrift(time.Now(), "", []report.ReleaseDrift{
		{Namespace: "apps", Name: "calm", Compared: 2},
		{Namespace: "apps", Name: "extra", Compared: 2, Additions: 1},
		{Namespace: "apps", Name: "gone", LeftOut: "nothing"},
		{Namespace: "apps", Name: "web", Compared: 2, Differences: []report.ObjectDrift{drift}},
		{Namespace: "apps", Name: "half", Error: "forbidden"},
	}).HTML(page.Style(), page.Icon())
	check.NoError(t, err)
	file := filepath.Join(t.TempDir(), "report.html")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	tab := w.newTab()
	tab.open("file://"+file, desktop())
	const visible = `[...document.querySelectorAll('#rows tbody tr')].filter((r) => r.checkVisibility())
		.map((r) => r.querySelector('th').textContent.trim().split(/\s/)[0])`
	const cards = `[...document.querySelectorAll('section[id^=r]')].filter((s) => s.checkVisibility()).length`
	for _, tc := range []struct {
		only, want string
		cards      int
	}{
		{"all", "apps/web apps/half", 2}, {"drifted", "apps/web", 1}, {"incomplete", "apps/half", 1},
		{"left-out", "apps/gone", 0}, {"additions", "apps/extra", 0}, {"all", "apps/web apps/half", 2},
	} {
		tab.click("label:has(#only-" + tc.only + ")")
		if got := strings.Join(eval[[]string](tab, visible), " "); got != tc.want || eval[int](tab, cards) != tc.cards {
			t.Errorf("%s: %q, want %q; %d cards", tc.only, got, tc.want, eval[int](tab, cards))
		}
	}
	tab.click("#rows summary")
	got := len(eval[[]string](tab, visible))
	check.That(t, got == 5, "%d releases when the fold is open", got)
	tab.fits(desktop())
}
