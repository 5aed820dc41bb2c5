package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/release"
)

// Admission is a request to change or delete a locked object, with everything needed to judge it in advance.
type Admission struct {
	// Input describes the object; Live and Last are ignored. Its Release is the release in the desired metadata of the
	// object. Locked is the locked release: its record may be stored in another namespace.
	Input
	Locked release.Key
	// Before is the object before the request; nil for a change that is Harmless. After is the object after the
	// request; nil for a deletion. For a request about the subresource scale both are a Scale: its spec has the
	// replicas at the same path as the object. All other fields are missing in both.
	Before, After *unstructured.Unstructured
	// Guard is the guard of the lock, and Exempt are the exempt users and groups.
	Guard  v1alpha1.Guard
	Exempt []v1alpha1.GuardSubject
	// Account is the user to impersonate for writes; empty for the operator's own. ReplaceImmutable is set when the
	// operator may delete the object to re-create it.
	Account          string
	ReplaceImmutable bool
	// By is the sender of the request.
	By Requester
	// DryRun is set for a request that the API server does not carry out.
	DryRun bool
}

// Requester is the sender of a request, as the API server knows them.
type Requester struct {
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// introduced returns the differences from the desired state that the request adds. The earlier differences are learnt
// as normal, so a change beside them, or a repair, adds nothing.
func (a *Admission) introduced() []drift.Change {
	in, found := a.Input, a.afterwards()
	if len(found.Changes) == 0 {
		return nil
	}
	in.Live = a.After
	options := found.Options
	options.Accepted, options.Strict = nil, in.strict(a.Before)
	learnt := drift.Learn(found.Desired, a.Before.Object, options)
	options.Accepted, options.Strict = learnt, found.Options.Strict
	since := drift.Compare(found.Desired, a.After.Object, options).Changes

	options.Strict = in.strict(a.Before)
	before := drift.Compare(found.Desired, a.Before.Object, options).Changes
	return slices.DeleteFunc(found.Changes, func(c drift.Change) bool {
		// A replacement of something declared is not learnt.
		return !slices.Contains(since, c) || c.Op == drift.Added && slices.Contains(before, c)
	})
}

// isOfCluster reports whether the requester is a part of Kubernetes. These delete objects to keep the cluster working:
// pods of a lost node, or in the way of more important ones.
func (r *Requester) isOfCluster() bool {
	return r.User == "system:kube-scheduler" || slices.Contains(r.Groups, "system:nodes") ||
		slices.Contains(r.Groups, "system:serviceaccounts:kube-system")
}

// IsOneOf reports whether a list of subjects names the requester.
func (r *Requester) IsOneOf(subjects []v1alpha1.GuardSubject) bool {
	return slices.ContainsFunc(subjects, func(s v1alpha1.GuardSubject) bool {
		switch s.Kind {
		case v1alpha1.GuardSubjectUser:
			return r.User == s.Name
		case v1alpha1.GuardSubjectGroup:
			return slices.Contains(r.Groups, s.Name)
		case v1alpha1.GuardSubjectServiceAccount:
			return r.User == "system:serviceaccount:"+s.Namespace+":"+s.Name
		}
		return false
	})
}

// collectors finish the deletions of other requests. Without service accounts for its controllers, the controller
// manager is one user.
var collectors = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager", "system:apiserver",
}

// collects reports whether every request of the requester must pass, because a deletion could hang otherwise.
func (r *Requester) collects() bool { return slices.Contains(collectors, r.User) }

// afterwards compares the object as the request makes it.
func (a *Admission) afterwards() Result {
	in := a.Input
	in.Live, in.Last, in.First = a.After, nil, false
	// The request may make a webhook inject another form of its elements. The sender did not ask for that.
	if in.Strict {
		in.Baseline = in.Baseline.WithoutInjected()
	}
	// An added owner can delete the object. Only controllers of Kubernetes may add one.
	in.owners = func(map[string]any) bool { return a.By.isOfCluster() }
	return in.compared()
}
