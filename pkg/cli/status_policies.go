package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
)

// statusPolicies prints the policies, a line each; with a namespace, only those that made a HelmRelease for a release
// there.
func (a *app) statusPolicies(ctx context.Context, cmd *cli.Command) error {
	all, err := readContexts(ctx, a, cmd, func(a *app) (*[]*v1alpha1.HelmReleasePolicy, error) {
		store, query, err := a.statusStore(ctx, cmd)
		if err != nil {
			return nil, err
		}
		found, err := a.queriedPolicies(ctx, store, cmp.Or(cmd.Args().First(), query.policy), query.namespace)
		if err != nil {
			return nil, err
		}
		if format := cmd.String("output"); len(found) == 0 && (format == formatTable || format == formatWide) {
			a.noteNoPolicy(store.namespace, query.namespace)
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
	switch format := cmd.String("output"); {
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
		text = policyTable(found, a.tableOptions(cmd, in))
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.out, text); err != nil {
		return err
	}
	return exitOf(a, all)
}

// queriedPolicies returns the policies, in order: the one of a name, all without one, and with a namespace only those
// that made a HelmRelease for a release there.
func (a *app) queriedPolicies(
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
func (a *app) noteNoPolicy(of, namespace string) {
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

// missingPolicy returns the error for a policy that is not among all; nil for one that is.
func missingPolicy(namespace, name string, all []*v1alpha1.HelmReleasePolicy) error {
	var names []string
	for _, p := range all {
		if p.Name == name {
			return nil
		}
		names = append(names, p.Name)
	}
	err := fmt.Errorf("there is no HelmReleasePolicy %q%s", name, inNamespace(namespace))
	if near := inspect.Nearest(name, slices.Values(names)); near != "" {
		err = command.Hinted(err, "did you mean "+near+"?")
	} else if len(names) > 0 {
		err = command.Hinted(err, "there is "+some(names))
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: err}
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

// States for the filter of status.
const (
	stateLocked    = "locked"
	stateDrifted   = "drifted"
	stateContended = "contended"
	stateAttention = "attention"
)

// lockStates are the other states for the filter of status, with their names in report.LockState.
var lockStates = map[string]string{stateLocked: report.LockedYes, "detect": report.LockedDetect,
	"suspended": report.LockedSuspended, "unlocked": report.LockedNo, "unknown": report.LockedUnknown}

// isIn reports whether a HelmRelease has the state of --state; true without one.
func (q statusQuery) isIn(hr *v1alpha1.HelmRelease) bool {
	objects := hr.Status.Objects
	switch q.state {
	case "":
		return true
	case stateDrifted:
		return objects.Drifted > 0
	case stateContended:
		return objects.Contended > 0
	case stateAttention:
		_, needed := needsAttention(hr, q.now)
		return needed || objects.Contended > 0
	}
	return report.LockState(hr, q.now) == lockStates[q.state]
}

// Orders of status.
const (
	byName    = "name"
	byDrifted = "drifted"
	bySince   = "since"
)

// order returns the sort order of HelmReleases: by name, the most drifted first, or the last changed first.
func order(by string) func(x, y *v1alpha1.HelmRelease) int {
	first := firstBy(by)
	return func(x, y *v1alpha1.HelmRelease) int {
		ordered := 0
		if first != nil {
			ordered = first(x, y)
		}
		return cmp.Or(ordered, cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	}
}

// firstBy returns the part of an order before the name, which is for HelmReleases of several clusters, too; nil for the
// order by name.
func firstBy(by string) func(x, y *v1alpha1.HelmRelease) int {
	switch by {
	case byDrifted:
		return func(x, y *v1alpha1.HelmRelease) int {
			return cmp.Compare(y.Status.Objects.Drifted, x.Status.Objects.Drifted)
		}
	case bySince:
		return func(x, y *v1alpha1.HelmRelease) int {
			_, _, ofX := report.Ready(x)
			_, _, ofY := report.Ready(y)
			return ofY.Compare(ofX)
		}
	}
	return nil
}
