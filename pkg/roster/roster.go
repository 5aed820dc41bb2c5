// Package roster has the HelmReleases that a controller manages.
package roster

import (
	"context"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/release"
)

// Options configure a Roster.
type Options struct {
	// HelmReleases is the cache, and Dynamic reads the API server itself.
	HelmReleases helmcontrollers.HelmReleaseController
	Dynamic      dynamic.Interface
	// Namespace is where HelmReleases count; those in other namespaces are ignored.
	Namespace string
	// Name is the controller name that claims HelmReleases.
	Name string
	// Shard selects, by their labels, the HelmReleases to manage; nil for all.
	Shard labels.Selector
	// Storages are the storages of release records.
	Storages []release.Storage
	Queues   *queues.Queues

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// Roster finds the HelmReleases of a controller. It is safe for concurrent use.
type Roster struct{ Options }

// byRelease is the index of the HelmReleases by the name of their release.
const byRelease = "helm-locker/release"

// New returns a roster. It adds an index to the cache, so call it before the cache starts.
func New(o Options) *Roster {
	o.HelmReleases.Cache().AddIndexer(byRelease, func(hr *v1alpha1.HelmRelease) ([]string, error) {
		return []string{hr.Spec.Release.String()}, nil
	})
	return &Roster{o}
}

// KeyOf returns the key of a HelmRelease.
func KeyOf(hr *v1alpha1.HelmRelease) string { return hr.Namespace + "/" + hr.Name }

// ReleaseOf returns the release that a HelmRelease names.
func ReleaseOf(hr *v1alpha1.HelmRelease) release.Key {
	return release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
}

// Get returns the HelmRelease of a key from the cache; nil when it does not exist.
func (r *Roster) Get(key string) *v1alpha1.HelmRelease {
	namespace, name, _ := strings.Cut(key, "/")
	hr, err := r.HelmReleases.Cache().Get(namespace, name)
	if err != nil {
		return nil
	}
	return hr
}

// For returns the HelmReleases for a release, in any namespace.
func (r *Roster) For(key release.Key) []*v1alpha1.HelmRelease {
	named, err := r.HelmReleases.Cache().GetByIndex(byRelease, key.String())
	if err != nil {
		r.Log.Errorf("look up the HelmReleases of release %s: %v", key, err)
	}
	return named
}

// Enqueue enqueues the HelmReleases for a release.
func (r *Roster) Enqueue(key release.Key) {
	for _, hr := range r.For(key) {
		r.Queues.Releases.Add(KeyOf(hr))
	}
}

// EnqueueAll enqueues the HelmReleases of this controller, and returns their keys.
func (r *Roster) EnqueueAll() ([]string, error) {
	all, err := r.HelmReleases.Cache().List(r.Namespace, labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list HelmReleases: %w", err)
	}
	keys := make([]string, 0, len(all))
	for _, hr := range all {
		if !r.InShard(hr) {
			continue
		}
		key := KeyOf(hr)
		keys = append(keys, key)
		r.Queues.Releases.Add(key)
	}
	return keys, nil
}

// InShard reports whether the labels of a HelmRelease put it into this controller's shard. Other operators of the same
// name manage the other shards.
func (r *Roster) InShard(hr *v1alpha1.HelmRelease) bool {
	return r.Shard == nil || r.Shard.Matches(labels.Set(hr.Labels))
}

// Claimable reports whether operators of this controller's name manage the HelmRelease or may claim it, in any shard.
func (r *Roster) Claimable(hr *v1alpha1.HelmRelease) bool {
	by, claimed := hr.Annotations[v1alpha1.ManagedByAnnotation]
	return !claimed || by == "" || by == r.Name
}

// OfShard names the shard for a log line; empty when this controller manages all HelmReleases.
func (r *Roster) OfShard() string {
	if r.Shard == nil {
		return ""
	}
	return ", of shard " + r.Shard.String()
}

var helmReleasesGVR = v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.HelmReleaseResourceName)

// StillAsked reports whether the HelmRelease still asks for this lock, at a moment after the call. It is false when the
// HelmRelease has been deleted, suspended or edited. Watches can be behind, and deliver nothing for a while: so the
// operator asks the API server before it deletes an object or refuses a request. No answer is a reason against it, too.
func (r *Roster) StillAsked(ctx context.Context, l *lock.Lock) (bool, error) {
	namespace, name, _ := strings.Cut(l.Key, "/")
	// Use a list of one, because the operator has the permission to list HelmReleases, but not to get them.
	list, err := r.Dynamic.Resource(helmReleasesGVR).Namespace(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	if err != nil {
		return false, fmt.Errorf("read HelmRelease %s: %w", l.Key, err)
	}
	if len(list.Items) == 0 {
		return false, nil
	}
	hr := &v1alpha1.HelmRelease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[0].Object, hr); err != nil {
		return false, fmt.Errorf("decode HelmRelease %s: %w", l.Key, err)
	}
	now := r.Clock.Now()
	d := lock.Decide(lock.Input{Spec: hr.Spec, Record: l.Record, Found: true, Storages: r.Storages, Now: now})
	return hr.DeletionTimestamp == nil && r.Claimable(hr) && r.InShard(hr) && d.Lock &&
		equality.Semantic.DeepEqual(lock.Followed(hr.Spec, d, now), l.Spec), nil
}
