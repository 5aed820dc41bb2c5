package teams

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// reconcile brings the ReleaseLock of a release up to date. It makes a missing one, and deletes one of this process
// whose HelmRelease is gone.
func (w *worker) reconcile(key types.NamespacedName) error {
	hr, err := w.helmRelease(key)
	if err != nil {
		return err
	}
	rl, err := w.locks.Cache().Get(key.Namespace, key.Name)
	switch {
	case apierrors.IsNotFound(err) && hr == nil:
		return nil
	case apierrors.IsNotFound(err):
		return w.create(key)
	case err != nil:
		return fmt.Errorf("read the cache of ReleaseLocks: %w", err)
	case hr == nil:
		return w.remove(rl)
	}
	if of := rl.Status.HelmRelease; of != nil && of.Namespace != w.Namespace {
		w.Log.WithField("releaselock", key.String()).Debugf("it shows a HelmRelease of namespace %s", of.Namespace)
		return nil
	}
	return w.update(rl, hr)
}

// helmRelease returns the HelmRelease to show for a release; nil for none.
func (w *worker) helmRelease(key types.NamespacedName) (*helm.HelmRelease, error) {
	all, err := w.helmReleases.Cache().GetByIndex(byRelease, key.String())
	if err != nil {
		return nil, fmt.Errorf("read the cache of HelmReleases: %w", err)
	}
	var ours []*helm.HelmRelease
	for _, hr := range all {
		by := hr.Annotations[helm.ManagedByAnnotation]
		if hr.DeletionTimestamp == nil && (by == "" || by == w.ControllerName) {
			ours = append(ours, hr)
		}
	}
	return choose(ours), nil
}

// create makes a ReleaseLock. A namespace that is missing or being deleted has none.
func (w *worker) create(key types.NamespacedName) error {
	_, err := w.locks.Create(&v1alpha1.ReleaseLock{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create it: %w", err)
	}
	return nil
}

// remove deletes a ReleaseLock without a HelmRelease, if this process has written its status.
func (w *worker) remove(rl *v1alpha1.ReleaseLock) error {
	if of := rl.Status.HelmRelease; of == nil || of.Namespace != w.Namespace {
		return nil
	}
	err := w.locks.Delete(rl.Namespace, rl.Name, &metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &rl.UID, ResourceVersion: &rl.ResourceVersion}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete it: %w", err)
	}
	return nil
}

// update answers the pause that a ReleaseLock asks for, and writes its status. The answer to a changed pause is decided
// by the objects as they are: a cache may be behind this process's own writes.
func (w *worker) update(rl *v1alpha1.ReleaseLock, hr *helm.HelmRelease) error {
	a := decide(rl, hr, w.LongestPause, w.Clock.Now())
	if a.pause != nil || a.resume || !equality.Semantic.DeepEqual(a.status, rl.Status.Pause) {
		var err error
		if rl, err = w.locks.Get(rl.Namespace, rl.Name, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		if hr, err = w.helmReleases.Get(hr.Namespace, hr.Name, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("read HelmRelease %s: %w", hr.Name, err)
		}
		if hr, err = w.pause(rl, hr, &a); err != nil {
			return err
		}
	}
	status := mirror(hr, w.operators.stoppedOf(hr))
	status.Pause = a.status
	if equality.Semantic.DeepEqual(status, rl.Status) {
		return nil
	}
	after := rl.DeepCopy()
	after.Status = status
	if _, err := w.locks.UpdateStatus(after); err != nil {
		return fmt.Errorf("write its status: %w", err)
	}
	w.announce(rl, a)
	return nil
}

// pause decides about the pause of a ReleaseLock, sets a to the decision, and writes the HelmRelease. It returns the
// HelmRelease as it is then. A refusal of the API server, as by a rule for pauses, becomes the answer.
func (w *worker) pause(rl *v1alpha1.ReleaseLock, hr *helm.HelmRelease, a *answer) (*helm.HelmRelease, error) {
	*a = decide(rl, hr, w.LongestPause, w.Clock.Now())
	if a.pause == nil && !a.resume {
		return hr, nil
	}
	patch, err := pausePatch(rl, hr, a.pause)
	if err != nil {
		return hr, err
	}
	written, err := w.helmReleases.Patch(hr.Namespace, hr.Name, types.MergePatchType, patch)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		if a.resume {
			return hr, fmt.Errorf("end the pause of HelmRelease %s: %w", hr.Name, err)
		}
		*a = answer{status: &v1alpha1.PauseStatus{Requested: *wholeSeconds(rl.Spec.PausedUntil),
			Message: plain.Cut(plain.Line(err.Error()), helm.MaxConditionMessageBytes)}}
		return hr, nil
	case err != nil:
		return hr, fmt.Errorf("pause HelmRelease %s: %w", hr.Name, err)
	}
	return written, nil
}

// pausePatch returns the patch of a HelmRelease for a pause, or for its end with nil.
func pausePatch(rl *v1alpha1.ReleaseLock, hr *helm.HelmRelease, pause *grant) ([]byte, error) {
	annotations := map[string]any{
		helm.SuspendReasonAnnotation: nil, helm.SuspendedByAnnotation: nil, pauseAnnotation: nil}
	spec := map[string]any{"suspendUntil": nil}
	if pause != nil {
		spec["suspendUntil"] = pause.until.UTC().Format(time.RFC3339)
		annotations[pauseAnnotation] = pause.String()
		annotations[helm.SuspendReasonAnnotation] = rl.Spec.Reason
		if rl.Spec.By != "" {
			annotations[helm.SuspendedByAnnotation] = rl.Spec.By
		}
	}
	patch, err := json.Marshal(map[string]any{"spec": spec, "metadata": map[string]any{
		"uid": hr.UID, "resourceVersion": hr.ResourceVersion, "annotations": annotations}})
	if err != nil {
		return nil, fmt.Errorf("encode the pause of HelmRelease %s: %w", hr.Name, err)
	}
	return patch, nil
}

// maxEventBytes bounds the message of an event.
const maxEventBytes = 1024

// The reasons of events on ReleaseLocks.
const (
	eventPaused  = "Paused"
	eventEnded   = "PauseEnded"
	eventRefused = "PauseRefused"
)

// announce records an event about a changed pause.
func (w *worker) announce(rl *v1alpha1.ReleaseLock, a answer) {
	before, now := rl.Status.Pause, a.status
	if equality.Semantic.DeepEqual(before, now) {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.Kind,
		Namespace: rl.Namespace, Name: rl.Name, UID: rl.UID, ResourceVersion: rl.ResourceVersion}
	kind, reason, text := corev1.EventTypeNormal, eventEnded, "no longer paused"
	switch {
	case now != nil && now.Until != nil:
		reason = eventPaused
		text = fmt.Sprintf("paused by %s until %s: %s", rl.Spec.By, now.Until.UTC().Format(time.RFC3339),
			rl.Spec.Reason)
		if now.Message != "" {
			text += "; " + now.Message
		}
	case before != nil && before.Until != nil:
		if now != nil && now.Message != "" {
			text += ": " + now.Message
		}
	case now != nil && now.Message != "":
		kind, reason, text = corev1.EventTypeWarning, eventRefused, "not paused: "+now.Message
	default:
		return
	}
	text = plain.Cut(plain.Line(text), maxEventBytes)
	w.events.Event(about, kind, reason, text)
	w.Log.WithField("releaselock", rl.Namespace+"/"+rl.Name).Info(text)
}
