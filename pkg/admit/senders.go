package admit

import (
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// podName is the key of the Pod that a ServiceAccount's token is bound to, in the extra fields of a user.
const podName = "authentication.kubernetes.io/pod-name"

// Groups of Kubernetes: all users, and all ServiceAccounts. Those of a namespace follow a colon.
const (
	allUsers           = "system:authenticated"
	allServiceAccounts = "system:serviceaccounts"
)

// Limits of the paths of a remembered request: its sender chooses them.
const (
	requestPaths     = 8
	requestPathBytes = 128
)

// sender names the user of a request, and the Pod that used the token of a ServiceAccount.
func sender(u *authenticationv1.UserInfo) string {
	name := u.Username
	if pods := u.Extra[podName]; len(pods) == 1 {
		name += " (Pod " + pods[0] + ")"
	}
	return plain.Cut(plain.Line(name), v1alpha1.MaxUserBytes)
}

// groupsOf returns the groups of the user of a request, to the limit of a status, without those of all users and of all
// ServiceAccounts.
func groupsOf(u *authenticationv1.UserInfo) []string {
	var groups []string
	for _, group := range u.Groups {
		if group != allUsers && !strings.HasPrefix(group, allServiceAccounts) &&
			len(groups) < v1alpha1.MaxUserGroups {
			groups = append(groups, plain.Cut(plain.Line(group), v1alpha1.MaxUserBytes))
		}
	}
	return groups
}

// remember keeps the sender of a request that passes, for the drift that it makes.
func (ad *Admission) remember(q *question, changes []drift.Change) {
	if q.DryRun {
		return
	}
	r := lock.Request{User: q.sender, Groups: q.groups, At: ad.Clock.Now(), Deletion: q.After == nil}
	long := func(c drift.Change) bool { return len(c.Path) > requestPathBytes }
	if len(changes) <= requestPaths && !slices.ContainsFunc(changes, long) {
		for _, c := range changes {
			r.Paths = append(r.Paths, c.Path)
		}
	}
	q.lock.RecordRequest(q.ID, r)
}
