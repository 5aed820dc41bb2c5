package cli

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

// A preview of many releases begins with those that enforcing would change, and counts those that it leaves as they
// are.
func TestPreviewShowsChangesFirstAndFoldsTheRest(t *testing.T) {
	out := &previewOut{Policy: "web", Mode: "Enforce", Rights: "none"}
	add := func(name string, outcome policy.Outcome, change func(*previewRelease)) {
		r := previewRelease{Namespace: "apps", Name: name, Outcome: string(outcome), Objects: 2}
		if change != nil {
			change(&r)
		}
		out.Releases = append(out.Releases, r)
	}
	add("a", policy.Create, nil)
	add("b", policy.Create, nil)
	add("c", policy.Update, nil)
	add("d", policy.HandWritten, func(r *previewRelease) { r.By = "mine" })
	add("e", policy.OverBound, nil)
	add("f", policy.Create, func(r *previewRelease) { r.LeftOut = "no revision is deployed" })
	add("g", policy.Keep, func(r *previewRelease) { r.Held = true })
	add("h", policy.Create, func(r *previewRelease) { r.Error = "forbidden" })
	add("i", policy.Keep, func(r *previewRelease) {
		r.Differences = []report.ObjectDrift{{Object: report.Object{Kind: "ConfigMap", Name: "x"}, What: "data[key]"}}
	})
	table := func(wide bool) string {
		text, _, _ := strings.Cut(previewTable([]*previewOut{out}, false, tableOptions{wide: wide}), "\n\n")
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	const titles = "RELEASE OBJECTS DRIFTED POLICY ENFORCING WOULD\n"
	const first = "apps/h 2 0 locks it not compared: forbidden\napps/i 2 1 has locked it ConfigMap x: revert data[key]\n"
	const others = `apps/c 2 0 changes its HelmRelease change nothing
apps/d 2 0 leaves it to HelmRelease mine change nothing
apps/e 2 0 over spec.maxReleases change nothing
apps/f 2 0 locks it wait: no revision is deployed
apps/g 2 0 holds it because of drift change nothing
`
	if got, want := table(false), titles+first+others+"2 releases 4 0 locks it change nothing (-o wide lists them)"; got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	const quiet = "apps/a 2 0 locks it change nothing\napps/b 2 0 locks it change nothing\n"
	if got, want := table(true), strings.TrimSuffix(titles+first+quiet+others, "\n"); got != want {
		t.Errorf("the wide table is\n%s\nwant\n%s", got, want)
	}
}
