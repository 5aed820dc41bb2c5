package events

import (
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

// Drift is an object that is not as Helm left it.
type Drift struct {
	*lock.Work
	Found     judge.Result
	Operation v1alpha1.DriftOperation
	Authors   []drift.Attribution
	Requests  []lock.Request // that may have made the changes
	// Forbidding names the removed additions of others that conflict with declared values; empty for none.
	Forbidding string
}

// Portion is one author's part of the changes to an object. The name of an unknown author is empty.
type Portion struct {
	drift.Attribution
	Did    v1alpha1.DriftOperation // by the author
	Users  []string                // the possible senders of the change
	Groups []string                // those of a single sender
}
