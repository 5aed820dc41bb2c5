package guard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// realObject is an object of a real chart.
type realObject struct {
	chart    *realChart
	declared *unstructured.Unstructured
	live     *unstructured.Unstructured
	resource dynamic.ResourceInterface
	warnings *warnings
}

// warnings are the API server's warnings. It is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	text string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += text + " "
}

// take returns the warnings since the last call.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text
	w.text = ""
	return text
}

func (o *realObject) String() string { return o.declared.GetKind() + " " + o.declared.GetName() }

// belongs is the prefix of a refusal or a warning.
func (o *realObject) belongs() string {
	name := o.declared.GetName()
	if o.declared.GetNamespace() != "" {
		name = o.declared.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("helm-locker: %s %s belongs to the Helm release %s/%s, which is locked; ", o.declared.GetKind(),
		name, o.chart.name, o.chart.name)
}

// otherOwner is a patch that gives an object to another release.
const otherOwner = `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`

func (o *realObject) annotate(ctx context.Context, dryRun ...string) error {
	_, err := o.resource.Patch(ctx, o.declared.GetName(), types.MergePatchType, []byte(otherOwner),
		metav1.PatchOptions{DryRun: dryRun})
	return err
}

func (o *realObject) delete(ctx context.Context) error {
	return o.resource.Delete(ctx, o.declared.GetName(), metav1.DeleteOptions{})
}

// isRefused returns an error for requests that were not refused with the expected message, or were applied.
func (o *realObject) isRefused() error {
	ctx := o.chart.Ctx
	// The API server learns of a registration a moment after it is written. A dry run is only warned about.
	o.chart.Until("the API server asks about "+o.String(), func() (any, bool) {
		err := o.annotate(ctx, metav1.DryRunAll)
		said := o.warnings.take()
		return []any{err, said}, err == nil && strings.Contains(said, o.belongs())
	})
	err := errors.Join(o.editIsRefused(ctx),
		o.refusal(o.ask(func() error { return o.annotate(ctx) }),
			"metadata.annotations[meta.helm.sh/release-name] was refused"),
		o.refusal(o.ask(func() error { return o.delete(ctx) }), "its deletion was refused"))
	after, got := o.resource.Get(ctx, o.declared.GetName(), metav1.GetOptions{})
	switch {
	case got != nil:
		return errors.Join(err, got)
	case after.GetUID() != o.live.GetUID() || after.GetResourceVersion() != o.live.GetResourceVersion():
		return errors.Join(err, fmt.Errorf("everything was refused, and it was written: version %s became %s",
			o.live.GetResourceVersion(), after.GetResourceVersion()))
	}
	return err
}

// ask repeats a request that passed because the guard had no time to decide, as happens on a busy machine.
func (o *realObject) ask(request func() error) error {
	for {
		begun := time.Now()
		err := request()
		if err != nil || time.Since(begun) < time.Second {
			return err
		}
		o.chart.Logf("%s: a request passed after %s", o, time.Since(begun))
		o.chart.late.Store(true)
		o.isRestored()
	}
}

// isRestored waits until the object belongs to its release, and reads it.
func (o *realObject) isRestored() {
	o.chart.Until(o.String()+" is restored", func() (saw any, holds bool) {
		u, err := o.resource.Get(o.chart.Ctx, o.declared.GetName(), metav1.GetOptions{})
		if err != nil || u.GetDeletionTimestamp() != nil ||
			u.GetAnnotations()["meta.helm.sh/release-name"] != o.chart.name {
			return err, false
		}
		o.live = u
		return nil, true
	})
}

// refusal returns nil if a request was refused with the expected message.
func (o *realObject) refusal(answer error, words string) error {
	if answer == nil || !apierrors.IsForbidden(answer) || !strings.Contains(answer.Error(), o.belongs()) ||
		!strings.Contains(answer.Error(), words) {
		return fmt.Errorf("got %s, want a refusal with %q and %q", fmt.Sprint(answer), o.belongs(), words)
	}
	return nil
}

// editIsRefused changes a declared field to a valid value, if the manifest declares one.
func (o *realObject) editIsRefused(ctx context.Context) error {
	var answer error
	for _, t := range kit.Sample(kit.Tamperings(o.declared.Object), 20) {
		patches, err := t.Patches(o.declared.Object, o.live.Object)
		if err != nil {
			return err
		}
		for _, patch := range patches {
			answer = o.ask(func() error {
				_, err := o.resource.Patch(ctx, o.declared.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
				return err
			})
			if answer == nil || strings.Contains(answer.Error(), "helm-locker: ") {
				return o.refusal(answer, " refused. Use ")
			}
		}
	}
	if answer != nil {
		return fmt.Errorf("no declared field has another valid value: %w", answer)
	}
	return nil
}

// isWarnedAbout returns an error for changes without the expected warning, or without a revert.
func (o *realObject) isWarnedAbout() error {
	ctx := o.chart.Ctx
	want := o.belongs() + "metadata.annotations[meta.helm.sh/release-name] will be reverted"
	o.chart.Until(o.String()+" is warned about", func() (any, bool) {
		err := o.annotate(ctx)
		said := o.warnings.take()
		return []any{err, said}, err == nil && strings.Contains(said, want)
	})
	o.isRestored()
	if o.declared.GetKind() == "PersistentVolumeClaim" {
		return nil // a finalizer keeps it, and here is no controller that takes it off
	}
	err := o.delete(ctx)
	if said := o.warnings.take(); err != nil || !strings.Contains(said, o.belongs()+"its deletion will be undone") {
		return fmt.Errorf("a deletion with Warn: %s, said %q", fmt.Sprint(err), said)
	}
	o.isRestored()
	return nil
}
