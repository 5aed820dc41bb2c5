package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// View is a consistent copy of the inputs of a status.
type View struct {
	Facts
	// Lock is nil for a release without one. Sum is its summary.
	Lock *lock.Lock
	Sum  lock.Summary
	// Recent are the newest drifts, newest first, and Reverted is their number since the lock began.
	Recent   []v1alpha1.DriftRecord
	Reverted int
	// WatchErr is the most informative error of the watches; nil for none.
	WatchErr error
	// Guard is the reason why the API server asks no guard; zero when it does. Guarded is set for a lock that asks for
	// the guard, and Asked if the API server asks about all its objects.
	Guard          Problem
	Guarded, Asked bool
}

// Facts are the facts about a release beside its lock and its history. A writer replaces its maps and slices as a
// whole, so that a copy stays as it is.
type Facts struct {
	// Generation is that of the HelmRelease that Decision follows.
	Generation int64
	Decision   lock.Decision
	// Record is the newest one, if Found is set.
	Record release.Record
	Found  bool
	// Problem is the reason why a release that should be locked is not, or only in part; zero for none.
	Problem Problem
	// Revision is the revision last read.
	Revision Revision
	// Waiting are the objects of kinds that are not served, and Served the versions served instead.
	Waiting map[schema.GroupVersionKind][]manifest.ID
	Served  map[schema.GroupKind][]string
	// Conflicts are the objects of other HelmReleases.
	Conflicts []lock.Conflict
	Denials   Denials
	// Skipped are the parts of the manifest that cannot be locked.
	Skipped []manifest.Skipped
	// Doubted is set once the doubt about the locked record is known to stay.
	Doubted bool
	// Writer is the condition about the last writer of a record; zero while it is not known.
	Writer metav1.Condition
}

// Problem is a reason of a condition, and its message.
type Problem struct{ Reason, Message string }

// Problemf returns a problem with a message by a format of package fmt.
func Problemf(reason, format string, args ...any) Problem {
	return Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Revision is a revision as Helm describes it.
type Revision struct{ Description, Notes string }

// Denial is an object outside the rights of its release's account, and so not owned by the release.
type Denial struct {
	ID  manifest.ID
	GVR schema.GroupVersionResource
}

// Denials are the denied objects of one HelmRelease.
type Denials struct {
	Account string
	Objects []Denial
}

// Message describes the missing rights of the account, in the words of the API server's authorizer.
func (d Denials) Message() string {
	return plain.Some(d.Objects, "; ", func(o Denial) string {
		where := "at the cluster scope"
		if o.ID.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", o.ID.Namespace)
		}
		return fmt.Sprintf("%s is not protected: User %q cannot patch resource %q in API group %q %s",
			o.ID, d.Account, o.GVR.Resource, o.GVR.Group, where)
	})
}

type setter func(kind string, status metav1.ConditionStatus, reason, message string)
