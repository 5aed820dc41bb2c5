package cli

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// beginsToRevert reports whether a change of a HelmRelease makes an operator revert drift that it left alone before.
// before is nil for a new one.
func beginsToRevert(before, after *v1alpha1.HelmRelease, now time.Time) bool {
	reverts := func(hr *v1alpha1.HelmRelease) bool {
		return hr != nil && hr.Spec.Mode != v1alpha1.ModeDetect && !hr.Spec.SuspendedAt(now)
	}
	switch {
	case !reverts(after):
		return false
	case !reverts(before):
		return true
	case after.Spec.Scope == v1alpha1.ScopeStrict && before.Spec.Scope != v1alpha1.ScopeStrict:
		return true
	}
	return slices.ContainsFunc(before.Spec.Ignore, func(rule v1alpha1.IgnoreRule) bool {
		return !slices.ContainsFunc(after.Spec.Ignore,
			func(kept v1alpha1.IgnoreRule) bool { return reflect.DeepEqual(rule, kept) })
	})
}

// drifted is a release whose drift an operator reverts by a HelmRelease that is not stored yet.
type drifted struct {
	hr *v1alpha1.HelmRelease
	// record was compared.
	record release.Record
	*inspect.Comparison
	// declared are the objects of the manifest. They are not masked.
	declared []manifest.Object
}

// drifted compares a release as diff does, with the spec of a HelmRelease. It returns nil for a release that does not
// exist: its lock begins without drift. The error is the reason why it cannot be compared.
func (c *connection) drifted(
	ctx context.Context, hr *v1alpha1.HelmRelease, options inspect.CompareOptions,
) (*drifted, error) {
	key := keyOf(hr)
	records, err := c.Records(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	newest, found := release.Newest(records)
	switch {
	case !found || newest.Status == release.StatusUninstalled:
		return nil, nil
	case newest.Contested:
		return nil, &inspect.ContestedError{Key: key}
	case newest.Status != release.StatusDeployed:
		return nil, fmt.Errorf("its newest revision, %d, is %s", newest.Revision, newest.Status)
	}
	options.Strict = hr.Spec.Scope == v1alpha1.ScopeStrict
	if options.Rules, err = rules.Compile(hr.Spec.Ignore); err != nil {
		return nil, err
	}
	details, err := c.Read(ctx, newest)
	if err != nil {
		return nil, err
	}
	d := &drifted{hr: hr, record: newest}
	if d.Comparison, err = inspect.Compare(ctx, c, details, options); err != nil {
		return nil, err
	}
	d.declared, err = inspect.Objects(details, c.Scope())
	return d, err
}

// acceptedBy returns the record of a release in confirmed comparisons; empty for none.
func acceptedBy(confirmed []drifted, key release.Key) string {
	i := slices.IndexFunc(confirmed, func(d drifted) bool { return d.record.Key == key })
	if i < 0 {
		return ""
	}
	return confirmed[i].record.Version()
}

// Bounds of the text about reverts. The rest is counted.
const (
	revertedObjects  = 10 // of a release
	revertedInAll    = 40
	revertedFields   = 3 // of an object
	revertedValueLen = 60
)

// revertsText describes the drift that is reverted in releases, and the ways to keep it.
func revertsText(a *action, all []drifted) string {
	var b strings.Builder
	line := func(indent, text string) { fmt.Fprintln(&b, indent+plain.Line(text)) }
	left, releases, objects := revertedInAll, 0, 0
	for i := range all {
		d := &all[i]
		n := len(d.Differences)
		if left == 0 {
			releases, objects = releases+1, objects+n
			continue
		}
		key := keyOf(d.hr)
		line("", fmt.Sprintf("release %s has drifted; %s:", key, d.revertsHeading()))
		shown := min(n, revertedObjects, left)
		left -= shown
		for j := range d.Differences[:shown] {
			o := &d.Differences[j]
			line("  ", d.revertText(o))
			if keep := keepCommand(a, d, o); keep != "" {
				line("    ", "to keep it by Helm: "+keep)
			}
		}
		if n > shown {
			line("  ", fmt.Sprintf("and %d more: %s diff %s -n %s", n-shown, a.name, key.Name, key.Namespace))
		}
		line("  ", alternative(a, d))
	}
	if releases > 0 {
		line("", fmt.Sprintf("and %s of %s: %s diff -A shows all", plain.Count(objects, "object"),
			plain.Count(releases, "more release"), a.name))
	}
	return b.String()
}

// revertsHeading counts the objects that the lock reverts.
func (d *drifted) revertsHeading() string {
	reverted := 0
	for i := range d.Differences {
		if o := &d.Differences[i]; d.hr.Spec.ReplaceImmutable || len(o.Refused) == 0 || len(restored(o)) > 0 {
			reverted++
		}
	}
	if reverted == 0 {
		return "the API server refuses to restore it"
	}
	return "its lock reverts " + plain.Count(reverted, "object")
}

// revertText describes the revert of an object: its operation, and the fields with their live and declared values.
func (d *drifted) revertText(o *inspect.Difference) string {
	text := o.ID.String() + ": "
	switch changes := restored(o); {
	case o.State == inspect.StateMissing:
		text += "re-create it"
	case o.State == inspect.StateDeleting:
		text += "re-create it after its deletion, which is pending"
	case len(changes) > 0:
		var fields []string
		for _, change := range changes[:min(len(changes), revertedFields)] {
			fields = append(fields, d.fieldText(o, change))
		}
		if more := len(changes) - len(fields); more > 0 {
			fields = append(fields, fmt.Sprintf("and %s", plain.Count(more, "more field")))
		}
		text += "revert " + strings.Join(fields, ", ")
	default:
		text += "revert nothing"
	}
	if len(o.Refused) > 0 {
		text += "; the API server refuses to restore " + drift.Describe(o.Refused, revertedFields)
		if d.hr.Spec.ReplaceImmutable {
			text += ", so that the object may be deleted and created again (spec.replaceImmutable)"
		}
	}
	return text
}

// restored returns the changed fields that the API server does not refuse to restore.
func restored(o *inspect.Difference) []drift.Change {
	var changes []drift.Change
	for _, change := range o.Changes {
		if !slices.Contains(o.Refused, change.Change) {
			changes = append(changes, change.Change)
		}
	}
	return changes
}

// fieldText returns the path of a field with its live and its declared value, as far as these are known.
func (d *drifted) fieldText(o *inspect.Difference, change drift.Change) string {
	path := drift.Describe([]drift.Change{change}, 1)
	if change.Op == drift.Shared {
		return path + " (only its owner)"
	}
	live, declared, known := valuesOf(d.declared, o, change)
	if !known {
		return path
	}
	show := func(value any) string { return plain.Cut(shownField(value, value != nil), revertedValueLen) }
	return fmt.Sprintf("%s %s -> %s", path, show(live), show(declared))
}

// keepCommand returns the command that finds the Helm values behind the restored fields of an object; empty without
// one.
func keepCommand(a *action, d *drifted, o *inspect.Difference) string {
	if o.State != inspect.StateModified {
		return ""
	}
	var fields []string
	for _, change := range restored(o) {
		if change.Op == drift.Shared || len(fields) == revertedFields {
			continue
		}
		fields = append(fields, judge.ValuesField(change, d.wantedText(o, change)))
	}
	keep := judge.ValuesCommand(keyOf(d.hr), o.ID, fields...)
	if keep == "" {
		return ""
	}
	return a.name + strings.TrimPrefix(keep, command.Program)
}

// wantedText returns the live value of a field for a command line. Values that a shell would interpret, and those of
// Secrets, are left to the user.
func (d *drifted) wantedText(o *inspect.Difference, change drift.Change) string {
	if change.Op == drift.Removed {
		return "null"
	}
	live, _, known := valuesOf(d.declared, o, change)
	var text string
	switch value := live.(type) {
	case string:
		text = value
	case bool:
		text = strconv.FormatBool(value)
	case int64:
		text = strconv.FormatInt(value, 10)
	}
	if !known || len(text) > revertedValueLen || !harmless.MatchString(text) {
		return "..."
	}
	return text
}

// alternative names the commands by which the drift of a release stays as it is.
func alternative(a *action, d *drifted) string {
	if d.hr.Annotations[v1alpha1.HeldSinceAnnotation] != "" {
		return "to leave it: an ignore rule in the template of HelmReleasePolicy " + d.hr.Labels[v1alpha1.PolicyLabel] +
			", or an entry of its spec.exclude"
	}
	key := keyOf(d.hr)
	lock := fmt.Sprintf("%s lock %s -n %s", a.name, key.Name, key.Namespace)
	pause := fmt.Sprintf("%s suspend %s -n %s --for 1h", a.name, key.Name, key.Namespace)
	if d.hr.UID == "" { // without a HelmRelease there is no lock to suspend
		pause = lock + " --mode Detect"
	}
	ignore, n := "", 0
	for i := range d.Differences {
		o := &d.Differences[i]
		if o.State != inspect.StateModified {
			continue
		}
		for _, change := range restored(o) {
			ignore += " --ignore " + quoted(change.Path)
			n++
		}
	}
	switch {
	case n == 0:
		return "to leave it: " + pause
	case n > revertedFields || plain.Line(ignore) != ignore:
		ignore = " --ignore PATH for each field"
	}
	return fmt.Sprintf("to leave it: %s, or %s%s", pause, lock, ignore)
}
