package cli

import (
	"fmt"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/report"
)

func printPreview(a *action, all []located[previewOut]) error {
	var out []*previewOut
	for _, l := range all {
		if l.read != nil {
			out = append(out, l.read)
		}
	}
	var text string
	var err error
	switch format := a.cmd.String("output"); format {
	case formatTable, formatWide:
		o := tableOptions{style: a.style(), width: a.width(), wide: format == formatWide}
		text = previewTable(out, isLocated(all), o)
	default:
		text, err = encodeList(kindPolicyPreviews, out, contextsOf(all), format)
	}
	if err != nil {
		return err
	}
	return a.write(text)
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
