package policy

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// Input is everything that determines a plan for the policies of a namespace.
type Input struct {
	// Namespace is the operator's own; HelmReleases and policies of others have no effect.
	Namespace string
	// Controller is the controller name of the operator. It must not change objects claimed by another one.
	Controller string
	// Bounded is set when the rights of an account or of the record's writer bound the operator's writes to a release.
	// Without it a policy whose template names no account enforces with the operator's own rights.
	Bounded bool
	// Policies, Releases and HelmReleases are all of the cluster; they are not changed. A policy not stored yet may
	// be among them: it counts as the youngest.
	Policies     []*v1alpha1.HelmReleasePolicy
	Releases     []Release
	HelmReleases []*v1alpha1.HelmRelease
	// Namespaces is needed when a policy selects by labels of namespaces. NamespacesErr is why they cannot be read.
	Namespaces    Namespaces
	NamespacesErr error
	Now           time.Time
}

// Problem is the reason why a policy changes nothing: its locks stay as they are. Reason is a condition reason of the
// API package, empty for none.
type Problem struct{ Reason, Message string }

// Summary is the part of a plan about one policy as a whole.
type Summary struct {
	Policy  *v1alpha1.HelmReleasePolicy
	Problem Problem
	Counts  v1alpha1.PolicyCounts
	// Rollout is nil when the policy does none.
	Rollout *v1alpha1.RolloutStatus
	// Others are the policies with releases that this one matches, and Taken the names of other HelmReleases; sorted.
	Others, Taken []string
	// OwnRights is set when the policy enforces with the operator's own rights.
	OwnRights bool
	// Again is when to plan again without any event; zero when only an event changes the plan.
	Again time.Time

	enforced int // HelmReleases that the policy has made and that have mode Enforce
}

// candidate is a policy while a plan is made.
type candidate struct {
	*v1alpha1.HelmReleasePolicy
	matcher *Matcher
	problem Problem // why the policy changes nothing; empty when it does
	// ownRights is set when the policy enforces with the operator's own rights.
	ownRights bool

	won      []won
	over     map[release.Key]bool // what of won is over the bound
	results  []Result
	rollout  *v1alpha1.RolloutStatus
	again    time.Time
	previous []*v1alpha1.HelmRelease // what it made before
}

// won is a release that a policy may lock, with the policy's HelmRelease for it, nil for none.
type won struct {
	key      release.Key
	existing *v1alpha1.HelmRelease
}

// planner is the work on a plan.
type planner struct {
	Input
	policies    []*candidate // by name
	byUID       map[types.UID]*candidate
	byName      map[string]*v1alpha1.HelmRelease
	handWritten map[release.Key]*v1alpha1.HelmRelease
	made        map[release.Key]*v1alpha1.HelmRelease
	decided     map[types.UID]bool   // the HelmReleases that a result is about
	present     map[release.Key]bool // the releases that Helm has records of
}

func (c *candidate) add(r Result) {
	r.Policy = c.HelmReleasePolicy
	c.results = append(c.results, r)
}

func compareKeys(a, b release.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
