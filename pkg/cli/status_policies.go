package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
)

// statusPolicies prints the policies, a line each; with a namespace, only those that made a HelmRelease for a release
// there.
func statusPolicies(ctx context.Context, a *action) error {
	all, err := readContexts(ctx, a, func(a *action) (*[]*v1alpha1.HelmReleasePolicy, error) {
		store, query, err := statusStore(ctx, a)
		if err != nil {
			return nil, err
		}
		found, err := queriedPolicies(ctx, store, cmp.Or(a.cmd.Args().First(), query.policy), query.namespace)
		if err != nil {
			return nil, err
		}
		if format := a.cmd.String("output"); len(found) == 0 && (format == formatTable || format == formatWide) {
			noteNoPolicy(a, store.namespace, query.namespace)
		}
		return &found, nil
	})
	if err != nil {
		return err
	}
	var found []*v1alpha1.HelmReleasePolicy
	in := contextMap{}
	for _, l := range all {
		if l.read == nil {
			continue
		}
		for _, p := range *l.read {
			in.add(p, l.Name)
		}
		found = append(found, *l.read...)
	}
	text := ""
	switch format := a.cmd.String("output"); {
	case format == formatJSON || format == formatYAML:
		out := make([]policyOut, len(found))
		for i, p := range found {
			out[i] = policyOut{Context: in[p], Name: p.Name, Namespace: p.Namespace, Spec: p.Spec, Status: p.Status}
		}
		text, err = encodeList(kindPolicies, out, contextsOf(all), format)
	case format == formatName:
		for _, p := range found {
			text += in.before(p, changed{policy: p}.named()) + "\n"
		}
	case len(found) > 0:
		text = policyTable(found, tableOptionsOf(a, in))
	}
	if err != nil {
		return err
	}
	if err := a.write(text); err != nil {
		return err
	}
	return exitOf(a, all)
}

// queriedPolicies returns the policies, in order: the one of a name, all without one, and with a namespace only those
// that made a HelmRelease for a release there.
func queriedPolicies(
	ctx context.Context, store *helmReleases, name, namespace string,
) ([]*v1alpha1.HelmReleasePolicy, error) {
	all, err := store.listPolicies(ctx)
	if err != nil {
		return nil, err
	}
	if err := store.cluster.missing(ctx, namespace); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if err := store.cluster.missing(ctx, store.namespace); err != nil {
			return nil, err
		}
	}
	if name != "" {
		if err := missingPolicy(store.namespace, name, all); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(p *v1alpha1.HelmReleasePolicy) bool { return p.Name != name })
	}
	if all, err = store.lockingIn(ctx, all, namespace); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y *v1alpha1.HelmReleasePolicy) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return all, nil
}

// noteNoPolicy prints that there is no policy, or none for the releases of a namespace.
func noteNoPolicy(a *action, of, namespace string) {
	if namespace != "" {
		a.note("no HelmReleasePolicy%s has made a HelmRelease for a release in namespace %s", inNamespace(of), namespace)
		return
	}
	a.note("there is no HelmReleasePolicy%s; %s lock --all -n NAMESPACE makes one", inNamespace(of), a.name)
}

// lockingIn returns the policies with a HelmRelease for a release in a namespace; all when it is empty.
func (h *helmReleases) lockingIn(
	ctx context.Context, all []*v1alpha1.HelmReleasePolicy, namespace string,
) ([]*v1alpha1.HelmReleasePolicy, error) {
	if namespace == "" {
		return all, nil
	}
	locks, err := h.list(ctx, statusQuery{namespace: namespace}.fits)
	if err != nil {
		return nil, err
	}
	makes := func(p *v1alpha1.HelmReleasePolicy) bool {
		return slices.ContainsFunc(locks, func(hr *v1alpha1.HelmRelease) bool {
			owner := v1alpha1.PolicyOf(hr)
			return owner != nil && owner.UID == p.UID
		})
	}
	return slices.DeleteFunc(all, func(p *v1alpha1.HelmReleasePolicy) bool { return !makes(p) }), nil
}

// policyOut is a policy as JSON or YAML. Its fields are part of the command's interface.
type policyOut struct {
	Context   string                           `json:"context,omitempty"`
	Name      string                           `json:"name"`
	Namespace string                           `json:"namespace"`
	Spec      v1alpha1.HelmReleasePolicySpec   `json:"spec"`
	Status    v1alpha1.HelmReleasePolicyStatus `json:"status"`
}

func policyTable(all []*v1alpha1.HelmReleasePolicy, o tableOptions) string {
	var t report.Table
	row := func(paint func(string) string, context, namespace, message string, cells ...string) {
		if o.namespaces {
			cells = append([]string{namespace}, cells...)
		}
		if o.wide {
			cells = append(cells, message)
		}
		t.Add(func(_ int, text string) string { return paint(text) }, o.contexts.column(context, cells)...)
	}
	if !o.rowsAlone {
		row(o.style.Bold, titleContext, "NAMESPACE", "MESSAGE", "POLICY", "MODE", "MATCHED", "MADE", "LOCKED", "DRIFTED", "ROLLOUT", "SINCE",
			"REASON")
	}
	for _, p := range all {
		counts, rollout, reason, message, since := p.Status.Releases, "-", "", "no operator has looked at it yet", ""
		if r := p.Status.Rollout; r != nil {
			rollout = fmt.Sprintf("%s %d/%d", r.State, r.Enforced, r.Enforced+r.Waiting)
			if r.Held > 0 {
				rollout += fmt.Sprintf(", %d held", r.Held)
			}
		}
		paint := func(text string) string { return text }
		if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reason, message, since = ready.Reason, ready.Message, report.Age(ready.LastTransitionTime.Time, o.now)
		}
		if counts.Drifted > 0 || meta.IsStatusConditionFalse(p.Status.Conditions, v1alpha1.ConditionReady) {
			paint = o.style.Red
		}
		mode := cmp.Or(p.Spec.Template.Spec.Mode, v1alpha1.ModeEnforce)
		row(paint, o.contexts[p], p.Namespace, message, p.Name, string(mode),
			fmt.Sprint(counts.Matched), fmt.Sprint(counts.Made), fmt.Sprint(counts.Locked), fmt.Sprint(counts.Drifted),
			rollout, since, reason)
	}
	return t.String(o.width)
}
