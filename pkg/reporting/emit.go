package reporting

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/roster"
)

// mayRecord reports whether the budget allows another event about the drift of a release.
func (rep *Reporter) mayRecord(l *lock.Lock) bool {
	return rep.eventBudget.Allow(l.Release.Namespace, rep.Clock.Now())
}

// emitFor records an event about the drift of a release, if its budget allows another one.
func (rep *Reporter) emitFor(l *lock.Lock, about runtime.Object, e events.Event) {
	if rep.mayRecord(l) {
		rep.emit(about, e)
	}
}

// Event records an event on a HelmRelease, if this controller leads: a standby sees the same and would repeat it.
func (rep *Reporter) Event(hr *v1alpha1.HelmRelease, e events.Event) {
	if hr == nil {
		return
	}
	rep.announcements.flush(roster.KeyOf(hr))
	if rep.Leading.Load() {
		rep.emit(reference(hr), e)
	}
}

// emit records an event. Text quoted from the cluster cannot move the cursor of a reader's terminal or pass for another
// line.
func (rep *Reporter) emit(about runtime.Object, e events.Event) {
	rep.Events.Event(about, e.Type, e.Reason, plain.Cut(plain.Line(e.Text), maxEventBytes))
}

// maxEventBytes bounds the message of an event, as the newer of the two event APIs does.
const maxEventBytes = 1024

// reference returns the reference to a HelmRelease for its events.
func reference(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	ref := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = hr.Namespace, hr.Name, hr.UID, hr.ResourceVersion
	return ref
}
