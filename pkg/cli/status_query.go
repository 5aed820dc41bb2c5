package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

// statusQuery selects HelmReleases.
type statusQuery struct {
	// name is the name of a HelmRelease or of a release, namespace that of a release; empty for all.
	name, namespace string
	// policy and state filter; empty for all. now is the time for the computation of states.
	policy, state string
	now           time.Time
	// selector is for the labels of releases, and selected reports whether it matches those of one; nil for all.
	selector string
	selected func(release.Key) bool
}

func (q statusQuery) fits(hr *v1alpha1.HelmRelease) bool {
	return (q.name == "" || hr.Name == q.name || hr.Spec.Release.Name == q.name) &&
		(q.namespace == "" || hr.Spec.Release.Namespace == q.namespace) &&
		(q.policy == "" || hr.Labels[v1alpha1.PolicyLabel] == q.policy) && (q.selected == nil || q.selected(keyOf(hr)))
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

// statusStore returns the HelmReleases of a cluster, and the query of the flags and arguments.
func statusStore(ctx context.Context, a *action) (*helmReleases, statusQuery, error) {
	query := statusQuery{name: a.cmd.Args().First(), namespace: a.cmd.String("namespace")}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, query, err
	}
	if err := c.checkScope(query.name); err != nil {
		return nil, query, err
	}
	if namespace, name, found := strings.Cut(query.name, "/"); found {
		query.name, query.namespace = name, namespace
	}
	query.namespace = a.onlyIn(c, query.namespace)
	query.policy, query.state, query.now = a.cmd.String("policy"), a.cmd.String("state"), a.now()
	query.selector = a.cmd.String(selectorName)
	if query.selected, err = c.labelled(ctx, query.namespace); err != nil {
		return nil, query, err
	}
	namespace := a.cmd.String("helmrelease-namespace")
	if a.cmd.Bool("all-namespaces") {
		namespace = ""
	}
	return c.helmReleases(namespace, false), query, nil
}

// queried returns the HelmReleases of a query, and those of their operators that no longer run. A name, a namespace or
// a policy that does not exist is an error.
func queried(
	ctx context.Context, a *action, store *helmReleases, query statusQuery,
) ([]*v1alpha1.HelmRelease, []ended, error) {
	found, fromLocks, err := store.listOrLocks(ctx, query.namespace, query.fits)
	if err != nil {
		return nil, nil, err
	}
	if fromLocks {
		noteLocks(a, query.namespace)
	}
	nothing := len(found) == 0
	operators := leases{c: store.cluster, now: a.now}.ended(ctx, found)
	found = slices.DeleteFunc(found, func(hr *v1alpha1.HelmRelease) bool {
		outdate(hr, operators)
		return !query.isIn(hr)
	})
	if len(found) > 0 || fromLocks && query.name+query.selector == "" || a.cmd.Bool(mayNotExistName) {
		return found, operators, nil
	}
	if err := nothingFound(ctx, a, store, query); err != nil {
		return nil, nil, err
	}
	if nothing && query.selector != "" {
		return nil, nil, a.empty(ctx, store.cluster, fmt.Errorf(
			"no HelmRelease%s is for a release%s with labels %s",
			inNamespace(store.namespace), inNamespace(query.namespace), query.selector))
	}
	if format := a.cmd.String("output"); !a.cmd.Bool("watch") && (format == formatTable || format == formatWide) {
		noteEmpty(a, store.namespace, query)
	}
	return found, operators, nil
}

// noteLocks prints that the ReleaseLocks of a namespace were read in place of HelmReleases.
func noteLocks(a *action, namespace string) {
	a.note("read from the ReleaseLocks of namespace %s, as you may not list HelmReleases; %s suspend and resume work by them",
		namespace, a.name)
}

// nothingFound returns the error for a name, a namespace or a policy that does not exist; nil without one.
func nothingFound(ctx context.Context, a *action, store *helmReleases, query statusQuery) error {
	for _, namespace := range [...]string{store.namespace, query.namespace} {
		if err := store.cluster.missing(ctx, namespace); err != nil {
			return err
		}
	}
	if query.name != "" {
		return nothingCalled(ctx, a, store, query)
	}
	if query.policy == "" {
		return nil
	}
	all, err := store.listPolicies(ctx)
	if apierrors.IsForbidden(err) {
		return nil // it may exist
	}
	if err != nil {
		return err
	}
	return missingPolicy(store.namespace, query.policy, all)
}

// nothingCalled is the error for an unknown name.
func nothingCalled(ctx context.Context, a *action, store *helmReleases, query statusQuery) error {
	all, err := store.list(ctx, nil)
	if err != nil {
		return err
	}
	keys := map[release.Key]bool{}
	for _, hr := range all {
		keys[release.Key{Namespace: hr.Namespace, Name: hr.Name}] = true
		keys[release.Key{Namespace: hr.Namespace, Name: hr.Spec.Release.Name}] = true
	}
	var names []string
	for _, key := range inspect.Similar(release.Key{Name: query.name}, keys) {
		names = append(names, key.Name)
	}
	err = fmt.Errorf("no HelmRelease%s is called %s, or names a release of that name", inNamespace(store.namespace),
		query.name)
	if query.namespace != "" {
		err = fmt.Errorf("%w in namespace %s", err, query.namespace)
	}
	hints := []string{fmt.Sprintf("%s lock %s -n NAMESPACE locks a release; -A looks in all namespaces", a.name, query.name)}
	if len(names) > 0 {
		hints = []string{"did you mean " + strings.Join(names, ", or ") + "?"}
	}
	if a.cmd.Bool("watch") {
		hints = append(hints, "--"+mayNotExistName+" waits for it")
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: command.Hinted(err, hints...)}
}

// noteEmpty prints that there is no HelmRelease in a namespace for a query; in all when it is empty.
func noteEmpty(a *action, namespace string, query statusQuery) {
	switch where := inNamespace(namespace); {
	case query.state != "" || query.policy != "":
		a.note("no HelmRelease%s fits", where)
	case query.namespace != "":
		a.note("no release in namespace %s is locked: no HelmRelease%s is for one; %s lock RELEASE -n %s makes one",
			query.namespace, where, a.name, query.namespace)
	default:
		a.note("no release is locked: there is no HelmRelease%s; %s lock RELEASE -n NAMESPACE makes one", where, a.name)
	}
}
