package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/policy"
)

// policyOf returns the policy described by flags, without its template.
func policyOf(c *connection) (*v1alpha1.HelmReleasePolicy, error) {
	match, name := v1alpha1.ReleaseMatch{Namespaces: []string{c.namespace}}, c.namespace
	if c.cmd.Bool("all-namespaces") {
		match.Namespaces, name = []string{"*"}, "all"
	}
	if selector := c.cmd.String("selector"); selector != "" {
		parsed, err := labelSelector(selector)
		if err != nil {
			return nil, command.Hinted(fmt.Errorf("--selector: %w", err), "write it like team=web,tier!=db")
		}
		match.ReleaseSelector = parsed
		name += "-" + selector
	}
	p := &v1alpha1.HelmReleasePolicy{Spec: v1alpha1.HelmReleasePolicySpec{Match: match}}
	p.Namespace, p.Name = c.cmd.String("helmrelease-namespace"), c.cmd.String("name")
	if p.Name == "" {
		p.Name = policyName(name)
	}
	return p, nil
}

// labelSelector returns a selector as objects have it, of one as kubectl takes it.
func labelSelector(text string) (*metav1.LabelSelector, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return nil, errors.New("it selects by nothing")
	}
	out := &metav1.LabelSelector{}
	for _, r := range requirements {
		e := metav1.LabelSelectorRequirement{Key: r.Key(), Values: r.Values().List()}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			e.Operator = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			e.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			e.Operator, e.Values = metav1.LabelSelectorOpExists, nil
		case selection.DoesNotExist:
			e.Operator, e.Values = metav1.LabelSelectorOpDoesNotExist, nil
		default:
			return nil, fmt.Errorf("a policy cannot select by %q", r.String())
		}
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	return out, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// policyName derives a name from a text. Equal flags give an equal name, so a second run finds the policy.
func policyName(text string) string {
	const longest = 63 // it is the value of a label
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(name[:min(len(name), longest)], "-")
}

// matchText describes the releases matched by a policy.
func matchText(m v1alpha1.ReleaseMatch) string {
	text := "all releases"
	if m.ReleaseSelector != nil {
		text = "releases with labels " + metav1.FormatLabelSelector(m.ReleaseSelector)
	}
	if len(m.Namespaces) == 1 && m.Namespaces[0] == "*" {
		return text + " of all namespaces but the operator's, now and later"
	}
	return text + " of namespace " + strings.Join(m.Namespaces, ", ") + ", now and later"
}

// selectsAs reports whether a policy selects the releases of another one, by the same fields.
func selectsAs(p, other *v1alpha1.HelmReleasePolicy) bool {
	return reflect.DeepEqual(p.Spec.Match, other.Spec.Match) && len(p.Spec.Exclude) == 0
}

func errSelectsOthers(p *v1alpha1.HelmReleasePolicy) error {
	return command.Hinted(fmt.Errorf("HelmReleasePolicy %s/%s selects other releases", p.Namespace, p.Name),
		"choose another --name, or change that policy with kubectl edit")
}

// planOf returns a policy's effect on the releases of a cluster, with all other policies there.
func planOf(
	ctx context.Context, store *helmReleases, p *v1alpha1.HelmReleasePolicy, all []*v1alpha1.HelmReleasePolicy,
	releases []candidate,
) (policy.Summary, []policy.Result, []*v1alpha1.HelmRelease, error) {
	locks, err := store.list(ctx, nil)
	if err != nil && !errors.Is(err, errNoHelmReleases) {
		return policy.Summary{}, nil, nil, err
	}
	in := policy.Input{Namespace: store.namespace, HelmReleases: locks, Now: store.cluster.clock(),
		Policies: []*v1alpha1.HelmReleasePolicy{p}}
	for _, other := range all {
		if other.Name != p.Name {
			in.Policies = append(in.Policies, other)
		}
	}
	for _, r := range releases {
		in.Releases = append(in.Releases, policy.Release{Key: r.key, Labels: r.labels})
	}
	in.Namespaces, in.NamespacesErr = store.cluster.namespaceLabels(ctx)
	plan := policy.Make(in)
	summary, results, found := plan.Of(p.Name)
	if !found {
		err = fmt.Errorf("HelmReleasePolicy %s/%s is being deleted", p.Namespace, p.Name)
		return summary, nil, nil, err
	}
	return summary, results, locks, nil
}

// namespaceLabels returns the labels of all namespaces.
func (c *connection) namespaceLabels(ctx context.Context) (policy.Namespaces, error) {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	list, err := c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	namespaces := policy.Namespaces{}
	for i := range list.Items {
		namespaces[list.Items[i].GetName()] = list.Items[i].GetLabels()
	}
	return namespaces, nil
}
