package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/watch"
)

// loaded is a revision read and made into objects to lock.
type loaded struct {
	release *release.Release
	objects []*lock.Object
	kinds   map[schema.GroupVersionKind]watch.Kind
	waiting map[schema.GroupVersionKind][]manifest.ID
	skipped []manifest.Skipped
	// exceptions are what the manifest leaves to others; untracked are the objects of it that are not locked at all.
	exceptions []v1alpha1.Exception
	untracked  map[manifest.ID]struct{}
	// scalable is set when the release has an object whose replicas an autoscaler could set.
	scalable bool
}

// errRecordChanged says that the record is not any more what the watch said; its event is on the way.
var errRecordChanged = errors.New("the release record changed while it was read")

// load reads the payload of a record and turns its manifest into objects. What the user has to know is returned as a
// problem; an error means to try again.
func (c *Controller) load(ctx context.Context, rec release.Record, spec v1alpha1.HelmReleaseSpec) (*loaded, problem, error) {
	ignore, err := rules.Compile(spec.Ignore)
	if err != nil {
		return nil, problem{v1alpha1.ReasonInvalidRule, strings.ReplaceAll(err.Error(), "\n", "; ")}, nil // for the user to mend, not to try again
	}
	turn := c.large.wait()
	defer turn.end()
	rel, prob, err := c.read(ctx, rec, turn)
	if err != nil || prob.reason != "" {
		return nil, prob, err
	}
	if len(rel.Manifest) > largeManifest {
		turn.take()
	}
	set, err := manifest.Parse(rel.Manifest)
	if err != nil {
		return nil, problem{v1alpha1.ReasonManifestInvalid,
			fmt.Sprintf("the manifest of revision %d does not parse completely, so nothing of it is enforced: %v", rec.Revision, err)}, nil
	}
	resolved, unknown, err := set.Resolve(manifest.Release(rec.Key), func(gvk schema.GroupVersionKind) (bool, error) {
		kind, err := c.kinds.Get(gvk)
		return kind.Namespaced, err
	})
	if err != nil {
		return nil, problem{v1alpha1.ReasonManifestInvalid, err.Error()}, fmt.Errorf("resolve the objects of release %s: %w", rec.Key, err)
	}
	out := &loaded{release: rel, skipped: set.Skipped, kinds: map[schema.GroupVersionKind]watch.Kind{},
		waiting: map[schema.GroupVersionKind][]manifest.ID{}, untracked: map[manifest.ID]struct{}{}}
	for _, o := range unknown {
		out.waiting[o.GVK] = append(out.waiting[o.GVK], o.ID)
		out.untracked[o.ID] = struct{}{}
	}
	scaled := lock.AutoscaledObjects(resolved)
	for _, o := range resolved {
		kind, err := c.kinds.Get(o.GVK)
		if err != nil {
			return nil, problem{}, err
		}
		matcher := ignore.For(o)
		if e := c.exempt(o, matcher); e != nil {
			out.exceptions = append(out.exceptions, *e)
			out.untracked[o.ID] = struct{}{}
			continue
		}
		if matcher != nil {
			out.exceptions = append(out.exceptions, lock.ExceptionOf(o.ID, v1alpha1.ExceptionIgnored, matcher.Describe(), matcher.Paths()...))
		}
		out.exceptions = append(out.exceptions, lock.Coexist(o)...)
		scalable := lock.Scalable(o)
		switch r := scaled[o.ID]; {
		case scalable && r != nil:
			out.exceptions = append(out.exceptions, lock.ExceptionOf(o.ID, v1alpha1.ExceptionAutoscaled, r.String(), "/spec/replicas"))
		case scalable:
			out.scalable = true
		}
		if c.ObjectSetMetadata {
			if err := enforce.AddObjectSetMetadata(o.Content, rec.Key); err != nil {
				return nil, problem{}, fmt.Errorf("ObjectSet metadata of %s: %w", o.ID, err)
			}
		}
		desired, err := json.Marshal(o.Content)
		if err != nil {
			return nil, problem{}, fmt.Errorf("encode %s: %w", o.ID, err)
		}
		shared := c.shared.Share(lock.Kind{GVK: o.GVK, GVR: kind.GVR, Namespaced: kind.Namespaced, Schema: c.schemaOf(ctx, o.GVK, kind.GVR.Resource)})
		out.kinds[o.GVK] = kind
		out.objects = append(out.objects, &lock.Object{
			ID: sharing(o.ID, shared, rec.Key), Kind: shared, Desired: lock.Pack(desired), Keep: o.Keep, Replicas: scaled[o.ID], Scalable: scalable, Rules: matcher,
		})
	}
	return out, problem{}, nil
}

// sharing returns an identity with the texts of its kind and its release, where they are the same, instead of copies of them.
func sharing(id manifest.ID, kind *lock.Kind, rel release.Key) manifest.ID {
	id.Group, id.Kind = kind.GVK.Group, kind.GVK.Kind
	if id.Namespace == rel.Namespace {
		id.Namespace = rel.Namespace
	}
	return id
}

// exempt returns the exception for an object that is not locked at all, nil for one that is.
func (c *Controller) exempt(o manifest.Object, matcher *rules.Matcher) *v1alpha1.Exception {
	var e v1alpha1.Exception
	reserved := c.own.Reserved(o)
	switch {
	case reserved != "":
		e = lock.ExceptionOf(o.ID, v1alpha1.ExceptionReserved, reserved)
	case o.OptedOut:
		e = lock.ExceptionOf(o.ID, v1alpha1.ExceptionOptedOut, "an annotation in the manifest exempts the object")
	case matcher.Whole():
		e = lock.ExceptionOf(o.ID, v1alpha1.ExceptionIgnored, "spec.ignore exempts the object")
	default:
		return nil
	}
	return &e
}

// read gets and decodes the payload of a record.
func (c *Controller) read(ctx context.Context, rec release.Record, turn *turn) (*release.Release, problem, error) {
	secret, err := c.clients.Kubernetes.CoreV1().Secrets(rec.Key.Namespace).Get(ctx, rec.SecretName, metav1.GetOptions{})
	if err != nil {
		reason := v1alpha1.ReasonPayloadUnavailable
		if apierrors.IsForbidden(err) {
			reason = v1alpha1.ReasonForbidden
		}
		return nil, problem{reason, fmt.Sprintf("cannot read the record of revision %d: %v", rec.Revision, err)},
			fmt.Errorf("get Secret %s/%s: %w", rec.Key.Namespace, rec.SecretName, err)
	}
	if secret.UID != rec.UID || secret.ResourceVersion != rec.ResourceVersion {
		return nil, problem{v1alpha1.ReasonLocking, errRecordChanged.Error()}, errRecordChanged
	}
	rel, err := release.DecodeSecret(secret.Data, turn.take)
	if errors.Is(err, release.ErrNoManifest) {
		err = nil // a chart of hooks, or an empty one: there is nothing to lock
	}
	if err == nil {
		err = rel.Matches(rec)
	}
	if err != nil {
		return nil, problem{v1alpha1.ReasonDecodeFailed, fmt.Sprintf("Secret %s/%s: %v", rec.Key.Namespace, rec.SecretName, err)}, nil
	}
	return rel, problem{}, nil
}
