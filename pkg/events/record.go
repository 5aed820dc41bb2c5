package events

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
)

// microTime returns a time with the precision of the API server. With a higher one, every status would differ from the
// stored one.
func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}

// Record returns the record of an author's part of the drift, and of the action against it.
func (d *Drift) Record(p Portion, action v1alpha1.DriftAction, lived Life) v1alpha1.DriftRecord {
	paths, more := Paths(p.Changes)
	r := v1alpha1.DriftRecord{
		Time: microTime(d.SeenFirst(p.Changes)), Object: judge.ObjectOf(d.ID), Operation: p.Did, Paths: paths,
		MorePaths: more, FieldManager: p.Manager, FieldManagerOperation: p.Operation, Subresource: p.Subresource,
		UserGroups: p.Groups, Action: action, Since: lived.Since,
	}
	if len(p.Users) == 1 {
		r.User = p.Users[0]
	} else {
		r.PossibleUsers = p.Users
	}
	if !p.Time.IsZero() {
		r.ChangeTime = &metav1.Time{Time: p.Time.UTC()}
	}
	if lived.Since != "" {
		r.Duration = &metav1.Duration{Duration: lived.Span}
	}
	return r
}

// Logged returns the log fields of a drift. The author and the paths are unknown for a deleted object, and drift that
// is only reported has no end.
func (p Portion) Logged(l *lock.Lock, id manifest.ID, lived Life) map[string]any {
	fields := map[string]any{"release": l.Release.String(), "object": id.String(), "operation": p.Did}
	texts := map[string]string{"manager": p.Manager, "paths": drift.Describe(p.Changes, plain.MaxNamed),
		"user": strings.Join(p.Users, " or ")}
	if lived.Since != "" {
		texts["lived"], texts["since"] = lived.Span.String(), string(lived.Since)
	}
	for name, value := range texts {
		if value != "" {
			fields[name] = value
		}
	}
	return fields
}

// Paths returns the changed paths, each once, cut to the limit of a status, and the number of omitted ones.
func Paths(changes []drift.Change) ([]string, int) {
	paths := make([]string, 0, len(changes))
	for _, ch := range changes {
		paths = append(paths, plain.Line(ch.Path)) // keys of custom resources may be anything
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > v1alpha1.MaxDriftPaths {
		return paths[:v1alpha1.MaxDriftPaths], len(paths) - v1alpha1.MaxDriftPaths
	}
	return paths, 0
}
