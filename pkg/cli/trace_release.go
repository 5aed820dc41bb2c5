package cli

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
)

// origin is a release that may have deployed an object.
type origin struct {
	key release.Key
	// named is the object whose metadata names the release, at the one that the release declares.
	named  *report.Object
	at     link
	exists string
	newest release.Record
	// details are the revision that is compared with the cluster; nil when it was not read.
	details  *whole.Release
	object   *manifest.Object
	hook     *whole.Hook
	declares string
	err      error
}

func (o *origin) out() *tracedRelease {
	out := &tracedRelease{Name: o.key.Name, Namespace: o.key.Namespace, NamedBy: o.named,
		Object: report.ObjectOf(o.at.id), Exists: o.exists, Revision: o.newest.Revision, Status: o.newest.Status,
		Declares: o.declares}
	if o.details != nil {
		out.Manifest = o.details.Revision
	}
	if o.hook != nil {
		out.Hook = eventsOf(*o.hook)
	}
	if o.err != nil {
		out.Reason = o.err.Error()
	}
	return out
}

// origin returns the release that declares the object or one of its owners, the nearest one first: the release in the
// metadata, which any user with write access may have forged, or else one with records in the namespace. Without any,
// it returns the release that the metadata names; nil without that.
func (t *tracer) origin(ctx context.Context) *origin {
	var named []*origin
	for _, l := range t.links {
		if l.live == nil {
			continue
		}
		key := judge.ClaimedBy(l.live)
		if key == (release.Key{}) {
			continue
		}
		o := t.claimed(ctx, key, l)
		if o.declares == answerYes || o.declares == answerHook {
			return o
		}
		named = append(named, o)
	}
	if o := t.declaring(ctx); o != nil {
		return o
	}
	slices.SortStableFunc(named, func(a, b *origin) int { return cmp.Compare(unknownFirst(a), unknownFirst(b)) })
	if len(named) > 0 {
		return named[0]
	}
	return nil
}

func unknownFirst(o *origin) int {
	if o.declares == answerUnknown {
		return 0
	}
	return 1
}

// claimed examines the release that the metadata of an object names. Its record can be in another namespace.
func (t *tracer) claimed(ctx context.Context, key release.Key, at link) *origin {
	o := &origin{key: key, named: new(report.ObjectOf(at.id)), at: at, exists: answerUnknown, declares: answerUnknown}
	records, err := t.Records(ctx, key.Namespace, key.Name)
	if err == nil && len(records) == 0 {
		records, err = t.stored(ctx, key)
	}
	if err != nil {
		o.err = err
		return o
	}
	if len(records) == 0 {
		o.exists, o.declares = answerNo, answerNo
		return o
	}
	t.examine(ctx, o, records)
	if o.at.live != nil && judge.ClaimedBy(o.at.live) == key { // a Deployment gives its annotations to its ReplicaSets
		o.named = new(report.ObjectOf(o.at.id))
	}
	return o
}

// stored returns the records of a release that are stored in another namespace than that of its objects.
func (t *tracer) stored(ctx context.Context, key release.Key) ([]release.Record, error) {
	elsewhere, err := t.Enforcer().Elsewhere(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, record := range elsewhere {
		if details, err := t.Read(ctx, record); err == nil && details.Key == key {
			return t.Records(ctx, record.Key.Namespace, record.Key.Name)
		}
	}
	return nil, nil
}

// declaring returns the release of the searched namespace that declares the object or one of its owners; nil for none.
func (t *tracer) declaring(ctx context.Context) *origin {
	all, err := t.allCandidates(ctx, t.searched())
	if err != nil {
		t.unread = err
		return nil
	}
	var hook *origin
	for _, of := range all {
		if of.err != nil {
			t.unread = cmp.Or(t.unread, of.err)
			continue
		}
		o := &origin{at: t.links[0], declares: answerUnknown}
		t.examine(ctx, o, of.records)
		switch o.declares {
		case answerYes:
			return o
		case answerHook:
			hook = cmp.Or(hook, o)
		case answerUnknown:
			t.unread = cmp.Or(t.unread, o.err)
		}
	}
	return hook
}

// searched is the namespace of the records that are searched.
func (t *tracer) searched() string { return cmp.Or(t.links[0].id.Namespace, t.namespace) }

// examine completes an origin by the records of its release.
func (t *tracer) examine(ctx context.Context, o *origin, records []release.Record) {
	o.exists = answerYes
	o.newest, _ = release.Newest(records)
	o.key = o.newest.Key
	if o.newest.Contested {
		o.err = &inspect.ContestedError{Key: o.key}
		return
	}
	current, _ := inspect.Current(records)
	details, err := t.Read(ctx, current)
	if err != nil {
		o.err = err
		return
	}
	objects, err := inspect.Objects(details, t.Scope())
	if err != nil {
		o.err = err
		return
	}
	o.details, o.declares = details, answerNo
	for _, l := range t.links {
		if o.declared(l, objects) {
			o.at = l
			return
		}
	}
}

// declared looks for an object in the manifest and among the hooks of the release, and reports whether it is there.
func (o *origin) declared(at link, objects []manifest.Object) bool {
	of := manifest.Release(o.details.Key)
	for i := range objects {
		if slices.Contains(objects[i].ID.InEitherScope(of), at.id) {
			o.declares, o.object = answerYes, &objects[i]
			return true
		}
	}
	for i := range o.details.Hooks {
		if hook := &o.details.Hooks[i]; isHook(hook, of, at.id) {
			o.declares, o.hook = answerHook, hook
			return true
		}
	}
	return false
}

// isHook reports whether a hook of a release is an object.
func isHook(hook *whole.Hook, of manifest.Release, id manifest.ID) bool {
	var object metav1.PartialObjectMetadata
	if err := yaml.Unmarshal([]byte(hook.Manifest), &object); err != nil {
		return false
	}
	group := object.GroupVersionKind().GroupKind()
	declared := manifest.ID{Group: group.Group, Kind: group.Kind, Namespace: object.Namespace, Name: object.Name}
	return slices.Contains(declared.InEitherScope(of), id)
}
