package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

// previewOut is a preview as JSON or YAML. Its fields are part of the command's interface.
type previewOut struct {
	Context string `json:"context,omitempty"`
	Policy  string `json:"policy"`
	Mode    string `json:"mode"`
	// Rights names the account that enforces the releases.
	Rights string `json:"rights"`
	// Enforced describes when the releases are enforced.
	Enforced string                  `json:"enforced,omitempty"`
	Summary  v1alpha1.PolicyCounts   `json:"summary"`
	Rollout  *v1alpha1.RolloutStatus `json:"rollout,omitempty"`
	Releases []previewRelease        `json:"releases"`
}

type previewRelease struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Outcome is the policy's effect on the release, By its other owner, and Why the reason of an unlock.
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`
	// Held is set for a release that the rollout holds because of its drift.
	Held     bool `json:"held,omitempty"`
	Revision int  `json:"revision,omitempty"`
	Objects  int  `json:"objects"`
	// Differences are the changes that enforcing would make.
	Differences []report.ObjectDrift `json:"differences,omitempty"`
	LeftOut     string               `json:"leftOut,omitempty"`
	Error       string               `json:"error,omitempty"`
}

func (a *app) printPreview(cmd *cli.Command, all []located[previewOut]) error {
	var out []*previewOut
	for _, l := range all {
		if l.read != nil {
			out = append(out, l.read)
		}
	}
	var text string
	var err error
	switch format := cmd.String("output"); format {
	case formatTable, formatWide:
		o := tableOptions{style: a.style(cmd), width: a.width(), wide: format == formatWide}
		text = previewTable(out, isLocated(all), o)
	default:
		text, err = encodeList(kindPolicyPreviews, out, contextsOf(all), format)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, text)
	return err
}

// previewTable returns a table of the releases with a line for each object to change, and a total for each cluster.
func previewTable(all []*previewOut, several bool, o tableOptions) string {
	var t report.Table
	add := func(paint func(string) string, context string, cells ...string) {
		if several {
			cells = append([]string{context}, cells...)
		}
		t.Add(func(_ int, text string) string { return paint(text) }, cells...)
	}
	add(o.style.Bold, titleContext, "RELEASE", "OBJECTS", "DRIFTED", "POLICY", "ENFORCING WOULD")
	rows, totals := 0, ""
	for _, out := range all {
		rows += len(out.Releases)
		listed, folded := out.folded(o.wide)
		for _, r := range listed {
			paint := func(text string) string { return text }
			if r.comesFirst() {
				paint = o.style.Red
			}
			changes := r.changes()
			add(paint, out.Context, r.Namespace+"/"+r.Name, fmt.Sprint(r.Objects), fmt.Sprint(len(r.Differences)), r.outcome(),
				changes[0])
			for _, more := range changes[1:] {
				add(paint, "", "", "", "", "", more)
			}
		}
		for _, f := range folded {
			add(o.style.Dim, out.Context, plain.Count(f.releases, "release"), fmt.Sprint(f.objects), "0", f.outcome,
				"change nothing (-o wide lists them)")
		}
		totals += out.total()
	}
	if rows == 0 {
		return totals
	}
	return t.String(o.width) + "\n" + totals
}

// total returns the totals of a preview, and the rights of the policy.
func (out *previewOut) total() string {
	drifted, objects := 0, 0
	for i := range out.Releases {
		if n := out.Releases[i].changing(); n > 0 && out.Releases[i].By == "" {
			drifted++
			objects += n
		}
	}
	locked := "locked"
	if out.Mode == string(v1alpha1.ModeDetect) {
		locked = "watched (mode Detect)"
	}
	head := ""
	if out.Context != "" {
		head = plain.Line(out.Context) + ": "
	}
	total := fmt.Sprintf("%s: %s matched, %s would be %s; enforcing would change %s in %s", out.Policy,
		plain.Count(out.Summary.Matched, "release"), plain.Count(out.locked(), "release"), locked,
		plain.Count(objects, "object"), plain.Count(drifted, "release"))
	text := head + plain.Line(total) + "\n"
	if out.Enforced != "" {
		text += head + plain.Line("enforced: "+out.Enforced) + "\n"
	}
	return text + head + plain.Line("rights: "+out.Rights) + "\n"
}

// locked counts the releases with a HelmRelease under the policy.
func (out *previewOut) locked() (n int) {
	for _, r := range out.Releases {
		switch policy.Outcome(r.Outcome) {
		case policy.Create, policy.Update, policy.Keep, policy.Waiting:
			n++
		}
	}
	return n
}

// outcome describes the policy's effect on the release in a few words.
func (r *previewRelease) outcome() string {
	if r.Held {
		return "holds it because of drift"
	}
	switch policy.Outcome(r.Outcome) {
	case policy.Create:
		return "locks it"
	case policy.Update:
		return "changes its HelmRelease"
	case policy.Delete:
		return "unlocks it: " + r.Why
	case policy.Keep:
		return "has locked it"
	case policy.Waiting:
		return "waits for a deletion"
	case policy.HandWritten:
		return "leaves it to HelmRelease " + r.By
	case policy.OtherPolicy:
		return "leaves it to policy " + r.By
	case policy.OverBound:
		return "over spec.maxReleases"
	case policy.OperatorNamespace:
		return "the operator's namespace"
	case policy.NameTaken:
		return "HelmRelease " + r.By + " has the name"
	}
	return r.Outcome
}

// changes describes the changes that enforcing would make, a line for each object.
func (r *previewRelease) changes() []string {
	switch {
	case r.Error != "":
		return []string{"not compared: " + r.Error}
	case r.LeftOut != "":
		return []string{"wait: " + r.LeftOut}
	case len(r.Differences) == 0:
		return []string{"change nothing"}
	}
	var lines []string
	for _, d := range r.Differences {
		what := "revert " + d.What
		if isRefused(d) {
			what = "not revert " + d.What
		}
		switch inspect.State(d.State) {
		case inspect.StateMissing:
			what = "re-create it"
		case inspect.StateDeleting:
			what = "not end its deletion: " + d.What
		}
		lines = append(lines, d.Object.String()+": "+what)
	}
	return lines
}

// changing counts the objects that enforcing would change.
func (r *previewRelease) changing() (n int) {
	for _, d := range r.Differences {
		if !isRefused(d) {
			n++
		}
	}
	return n
}

// isRefused reports whether the API server refuses to revert each change of an object.
func isRefused(d report.ObjectDrift) bool {
	return len(d.Refused) > 0 && len(d.Refused) == len(d.Changes)
}
