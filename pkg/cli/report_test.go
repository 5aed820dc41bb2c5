package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/page"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The HTML report has no style of its own: a class missing from the page's style sheet has lost its style.
func TestReportLooksLikeThePage(t *testing.T) {
	drift := report.NewDrift(time.Now(), "", []report.ReleaseDrift{
		{Namespace: "apps", Name: "calm", Locked: report.LockedSuspended},
		{Namespace: "apps", Name: "gone", LeftOut: "x"},
		{Namespace: "apps", Name: "web", Locked: report.LockedYes, Error: "x", ComparedLocally: "x", NotCompared: []string{"x"},
			Differences: []report.ObjectDrift{{Blame: []string{"x"}, Diff: "@@ x\n-a <secret 0123abcd>\n+b\n"}}},
		{Namespace: "apps", Name: "seen", Locked: report.LockedDetect},
		{Namespace: "apps", Name: "new", Locked: report.LockedUnknown},
	})
	day := history.New()
	day.Add(time.Now(), history.Change{Release: "apps/web", Author: "x", Time: time.Now()})
	drift.Day = day.Chart(time.Now(), func(string) bool { return true })
	text, err := encodeDrift(drift, formatHTML)
	check.NoError(t, err)
	_, body, _ := strings.Cut(text, "</style>")
	found := regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(body, -1)
	known := map[string]bool{"": true}
	for _, match := range found {
		for _, class := range strings.Fields(match[1]) {
			if !known[class] && !regexp.MustCompile(`\.`+class+`\b`).MatchString(page.Style()) {
				t.Errorf("the style sheet does not know class %s", class)
			}
			known[class] = true
		}
	}
	check.That(t, len(known) >= 20, "only classes %v are used", known)
	for _, id := range []string{"#tiles", "#rows", "#where"} {
		check.That(t, strings.Contains(page.Style(), id) && strings.Contains(body, `id="`+id[1:]+`"`),
			"%s is not in the style sheet, or not in the report", id)
	}
}
