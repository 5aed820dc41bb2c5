package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// mostPaused bounds the suspended releases that a table of status compares.
const mostPaused = 20

// pausedDrift counts the objects of a suspended release that the end of its pause reverts, and all of them.
type pausedDrift struct{ reverts, of int }

// pausedDrifts have the drift of suspended releases. The operator does not compare them before the last minute.
type pausedDrifts map[metav1.Object]pausedDrift

// isUncompared reports whether the operator does not compare the objects of a HelmRelease now.
func isUncompared(hr *v1alpha1.HelmRelease) bool { return hr.Status.Objects == v1alpha1.ObjectCounts{} }

// endsInReverts reports whether the end of a pause makes the operator revert drift that it does not count now.
func endsInReverts(hr *v1alpha1.HelmRelease, now time.Time) bool {
	return report.LockState(hr, now) == report.LockedSuspended && hr.Spec.Mode != v1alpha1.ModeDetect &&
		isUncompared(hr)
}

// comparePaused compares the suspended releases among the found ones, as diff does. It notes the drift that the end of
// their pauses reverts, and the releases whose drift is not known. The error is that of ctx.
func comparePaused(
	ctx context.Context, a *action, c *connection, found []*v1alpha1.HelmRelease, reader *action,
) (pausedDrifts, error) {
	paused := slices.DeleteFunc(slices.Clone(found),
		func(hr *v1alpha1.HelmRelease) bool { return !endsInReverts(hr, a.now()) })
	rest := max(len(paused)-mostPaused, 0)
	paused = paused[:len(paused)-rest]
	masker, err := newMasker(false)
	if err != nil {
		return nil, err
	}
	all := pausedDrifts{}
	var reverts []string
	var unknown error
	failed := 0
	for i, hr := range paused {
		key := keyOf(hr)
		progress := reader.progress(key, i+1, len(paused))
		d, err := c.drifted(ctx, hr, inspect.CompareOptions{Masker: masker, Progress: progress})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && d != nil && isIncomplete(d.Comparison) {
			err = d.Failures[0].Err
		}
		switch {
		case err != nil:
			failed, unknown = failed+1, err
		case d != nil:
			all[hr] = pausedDrift{len(d.Differences), d.Compared}
			if n := len(d.Differences); n > 0 {
				reverts = append(reverts, fmt.Sprintf("%s of %s", plain.Count(n, "object"), key))
			}
		}
	}
	if len(reverts) > 0 {
		a.note("note: the end of the pause reverts %s; %s diff RELEASE -n NAMESPACE shows what", some(reverts), a.name)
	}
	if failed > 0 {
		a.note("note: the drift of %s is not known: %v", plain.Count(failed, "suspended release"), unknown)
	}
	if rest > 0 {
		a.note("note: %s more were not compared; %s diff does", plain.Count(rest, "suspended release"), a.name)
	}
	return all, nil
}

// driftedCell is the column of the table with the number of drifted objects; a dash for a release that is not compared.
func (p pausedDrifts) driftedCell(hr *v1alpha1.HelmRelease) string {
	if d, known := p[hr]; known {
		return fmt.Sprintf("%d/%d", d.reverts, d.of)
	}
	if isUncompared(hr) {
		return "-"
	}
	return fmt.Sprintf("%d/%d", hr.Status.Objects.Drifted, hr.Status.Objects.Tracked)
}

// objects describes the counts of a HelmRelease.
func (p pausedDrifts) objects(hr *v1alpha1.HelmRelease) string {
	if d, known := p[hr]; known {
		return fmt.Sprintf("%d compared by this command, %d would be reverted at the end of the pause", d.of, d.reverts)
	}
	if isUncompared(hr) {
		return "not compared by the operator"
	}
	o := hr.Status.Objects
	parts := []string{fmt.Sprintf("%d tracked, %d drifted, %d contended, %d waiting", o.Tracked, o.Drifted, o.Contended,
		o.Waiting)}
	if o.Additions > 0 {
		parts = append(parts, fmt.Sprintf("%d with additions (see diff --strict)", o.Additions))
	}
	if o.Unmanaged > 0 {
		parts = append(parts, fmt.Sprintf("%d unmanaged", o.Unmanaged))
	}
	return strings.Join(parts, ", ")
}
