package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestBeginsToRevert(t *testing.T) {
	with := func(p v1alpha1.Protection) *v1alpha1.HelmRelease {
		return &v1alpha1.HelmRelease{Spec: v1alpha1.HelmReleaseSpec{Protection: p}}
	}
	ignoring := func(paths ...string) *v1alpha1.HelmRelease {
		return with(v1alpha1.Protection{Ignore: []v1alpha1.IgnoreRule{{Paths: paths}, {Paths: []string{"/last"}}}})
	}
	enforced, detected := with(v1alpha1.Protection{}), with(v1alpha1.Protection{Mode: v1alpha1.ModeDetect})
	suspended := with(v1alpha1.Protection{SuspendUntil: &metav1.Time{Time: noon.Add(time.Second)}})
	over := with(v1alpha1.Protection{SuspendUntil: &metav1.Time{Time: noon.Add(-time.Second)}})
	strict := with(v1alpha1.Protection{Scope: v1alpha1.ScopeStrict})
	more := ignoring("/a", "/b")
	more.Spec.Ignore = append(more.Spec.Ignore, v1alpha1.IgnoreRule{Paths: []string{"/c"}})
	for name, tc := range map[string]struct {
		before, after *v1alpha1.HelmRelease
		want          bool
	}{
		"a new lock":                        {nil, enforced, true},
		"a new lock in mode Detect":         {nil, detected, false},
		"Enforce after Detect":              {detected, with(v1alpha1.Protection{Mode: v1alpha1.ModeEnforce}), true},
		"Detect after Enforce":              {enforced, detected, false},
		"the end of a suspension":           {suspended, enforced, true},
		"a change while suspended":          {suspended, suspended, false},
		"a suspension that is over already": {over, enforced, false},
		"no change":                         {enforced, enforced, false},
		"scope Strict":                      {enforced, strict, true},
		"scope Declared":                    {strict, enforced, false},
		"a further ignored path":            {ignoring("/a", "/b"), more, false},
		"a path that is ignored no longer":  {ignoring("/a", "/b"), ignoring("/a"), true},
		"a rule that is gone":               {more, ignoring("/a", "/b"), true},
	} {
		t.Run(name, func(t *testing.T) { check.Equal(t, beginsToRevert(tc.before, tc.after, noon), tc.want) })
	}
}

func TestConfirmAsksOnlyAtATerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		terminal     bool
		answer, want string
		agreed       bool
	}{
		"yes":            {true, "y\n", "", true},
		"no":             {true, "n\n", "", false},
		"the end of it":  {true, "", "", false},
		"no terminal":    {false, "y\n", "nothing was changed: there is no terminal to ask at", false},
		"an empty input": {false, "", "nothing was changed: there is no terminal to ask at", false},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut strings.Builder
			a := &action{in: strings.NewReader(tc.answer), inTTY: tc.terminal, errOut: &errOut}
			agreed, err := a.confirm("Revert these?")
			check.That(t,
				agreed == tc.agreed && (err == nil) == (tc.want == "") && (err == nil || err.Error() == tc.want),
				"got %v, %v", agreed, err)
			check.Equal(t, errOut.String() == "Revert these? [y/N] ", tc.terminal, "it printed %q", errOut.String())
		})
	}
}

// A question without the answer yes ends the command with the exit code of drift.
func TestAskRevertsNeedsAYes(t *testing.T) {
	for answer, want := range map[string]string{"y\n": "", "\n": "nothing was changed"} {
		var errOut strings.Builder
		a := &action{in: strings.NewReader(answer), inTTY: true, errOut: &errOut}
		err := a.agreed("Revert these?")
		var exit *command.ExitError
		check.That(t,
			(want != "" || err == nil) && (want == "" || errors.As(err, &exit) && exit.Code == command.ExitFound &&
				err.Error() == want), "%q: %v", answer, err)
		check.Equal(t, errOut.String(), "Revert these? [y/N] ", "it printed")
	}
}

// driftedBy returns a release with a number of changed objects.
func driftedBy(name string, objects int) drifted {
	d := drifted{hr: &v1alpha1.HelmRelease{}, Comparison: &inspect.Comparison{}}
	d.hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: "apps", Name: name}
	for i := range objects {
		id := manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: fmt.Sprintf("%s-%d", name, i)}
		content := func(value string) map[string]any { return map[string]any{"data": map[string]any{"key": value}} }
		d.declared = append(d.declared, manifest.Object{ID: id, Content: content("one")})
		d.Differences = append(d.Differences, inspect.Difference{
			ID: id, State: inspect.StateModified, Want: content("one"), Have: content(strings.Repeat("long", 99)),
			Changes: []inspect.Change{{Change: drift.Change{Path: "/data/key", Op: drift.Modified}}},
		})
	}
	return d
}

// The text about reverts has a bounded number of lines for a release and for all, and bounded lines.
func TestRevertsTextIsBounded(t *testing.T) {
	a := &action{name: command.Program}
	var all []drifted
	for i := range 6 {
		all = append(all, driftedBy(fmt.Sprintf("web%d", i), 12))
	}
	text := revertsText(a, all)
	n := strings.Count(text, ": revert data[key] long")
	check.That(t, n == revertedInAll, "it names %d objects:\n%s", n, text)
	for _, want := range []string{"release apps/web0 has drifted; its lock reverts 12 objects:\n",
		"  and 2 more: helm-locker diff web0 -n apps\n", "and 24 objects of 2 more releases: helm-locker diff -A shows all\n"} {
		check.That(t, strings.Contains(text, want), "it lacks %q:\n%s", want, text)
	}
	for line := range strings.Lines(text) {
		check.That(t, len(line) <= 160, "a long line: %s", line)
	}
}

// Elements of lists are compared by their names, and without names no value is printed: it could be another one's.
func TestRevertTextOfListElements(t *testing.T) {
	d := driftedBy("web", 1)
	list := func(elements ...any) map[string]any { return map[string]any{"spec": map[string]any{"list": elements}} }
	element := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	o := &d.Differences[0]
	change := func(path string, op drift.Operation) {
		o.Changes = []inspect.Change{{Change: drift.Change{Path: path, Op: op}}}
	}
	expect := func(want string) {
		t.Helper()
		got := d.revertText(o)
		check.That(t, got == "ConfigMap apps/web-0: "+want, "got %q, want %q", got, want)
	}
	d.declared[0].Content = list(element("a", "1"), element("b", "2"))
	o.Want, o.Have = d.declared[0].Content, list(element("b", "3"), element("a", "1"), element("c", "4"))
	change("/spec/list/1/value", drift.Modified)
	expect("revert spec.list[1].value 3 -> 2")
	change("/spec/list/2", drift.Added)
	expect(`revert spec.list[2] {"name":"c","value":"4"} -> not set`)
	o.Refused = []drift.Change{o.Changes[0].Change}
	expect("revert nothing; the API server refuses to restore spec.list[2]")
	check.Equal(t, d.revertsHeading(), "the API server refuses to restore it", "the heading")
	d.hr.Spec.ReplaceImmutable = true
	expect("revert nothing; the API server refuses to restore spec.list[2], so that the object may be deleted and created " +
		"again (spec.replaceImmutable)")
	o.Refused = nil
	change("/spec/list/1", drift.Removed)
	expect(`revert spec.list[1] not set -> {"name":"b","value":"2"}`)
	change("/spec/list/1/value", drift.Shared)
	expect("revert spec.list[1].value (only its owner)")
	d.declared[0].Content = list(map[string]any{"port": int64(1)}, map[string]any{"port": int64(2)})
	o.Want, o.Have = d.declared[0].Content, d.declared[0].Content
	change("/spec/list/1/port", drift.Modified)
	expect("revert spec.list[1].port")
}
