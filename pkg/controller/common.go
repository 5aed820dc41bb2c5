package controller

import (
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sirupsen/logrus"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// common is shared by the workers: settings, clients, watches, state and queues. A worker asks another one for work by
// adding a key to its queue. Everything in it is safe for concurrent use, or does not change once New has returned.
type common struct {
	Options
	clients Clients
	own     judge.Own
	kinds   *watch.Kinds
	// lockedKinds are the kinds of all objects ever locked.
	lockedKinds lock.Kinds
	records     *watch.Releases
	objects     *watch.Objects
	inputs      *gather.Inputs
	enforcer    *enforce.Enforcer

	// definitionsAt is the time of the last creation, change or deletion of a CustomResourceDefinition, in Unix
	// nanoseconds.
	definitionsAt atomic.Int64
	// discoveredAt is the time of the last reset of discovery, in Unix nanoseconds.
	discoveredAt atomic.Int64

	queues queues
	slots  slots
	// tracing is set at log level trace. It guards the tracing of watch events, because these are many.
	tracing bool
	// leading is set while this controller may write.
	leading atomic.Bool
	// table has the locks, and entries the other state of each HelmRelease.
	table   *lock.Table
	entries entries
	// guardChanged holds a token when the set of guarded kinds may have changed.
	guardChanged chan struct{}
	// guardState is the registration of the guard at the API server; nil while unknown.
	guardState atomic.Pointer[guard.State]
	// unproven are the writes without a later read of the record.
	unproven lock.Writes
}

func newCommon(clients Clients, o Options) *common {
	table := lock.NewTable()
	return &common{
		Options: o, clients: clients,
		own: judge.Own{Namespace: o.Namespace, Name: o.Name, Fence: o.Name + proof.FenceSuffix,
			Guard: o.GuardSecret},
		kinds:  watch.NewKinds(clients.Discovery),
		queues: newQueues(o), slots: newSlots(), table: table,
		inputs:       &gather.Inputs{Table: table, Clock: o.Clock},
		guardChanged: make(chan struct{}, 1),
		tracing:      o.Log.WithField("", nil).Logger.IsLevelEnabled(logrus.TraceLevel),
	}
}

// byRelease is the index of the HelmReleases by the name of their release.
const byRelease = "helm-locker/release"

var everything = labels.Everything()

// keyOf returns the key of a HelmRelease.
func keyOf(hr *v1alpha1.HelmRelease) string { return hr.Namespace + "/" + hr.Name }

func releaseKey(hr *v1alpha1.HelmRelease) release.Key {
	return release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
}

// cached returns the HelmRelease of a key from the cache; nil when it does not exist.
func (c *common) cached(key string) *v1alpha1.HelmRelease {
	namespace, name, _ := strings.Cut(key, "/")
	hr, err := c.clients.HelmReleases.Cache().Get(namespace, name)
	if err != nil {
		return nil
	}
	return hr
}

// inShard reports whether the labels of a HelmRelease put it into this controller's shard. Other operators of the same
// name manage the other shards.
func (c *common) inShard(hr *v1alpha1.HelmRelease) bool {
	return c.Shard == nil || c.Shard.Matches(labels.Set(hr.Labels))
}

// ofShard names the shard for a log line; empty when this controller manages all HelmReleases.
func (c *common) ofShard() string {
	if c.Shard == nil {
		return ""
	}
	return ", of shard " + c.Shard.String()
}

// statusChanged schedules a write of the status of a HelmRelease. Changes until then go into the same write.
func (c *common) statusChanged(key string) { c.queues.status.AddAfter(key, statusDelay) }

// named returns the HelmReleases for a release, in any namespace.
func (c *common) named(key release.Key) []*v1alpha1.HelmRelease {
	named, err := c.clients.HelmReleases.Cache().GetByIndex(byRelease, key.String())
	if err != nil {
		c.Log.Errorf("look up the HelmReleases of release %s: %v", key, err)
	}
	return named
}

// releaseChanged enqueues the HelmReleases of a release.
func (c *common) releaseChanged(key release.Key) {
	for _, hr := range c.named(key) {
		c.queues.releases.Add(keyOf(hr))
	}
}

// confirmLater enqueues the confirmation of the writes to a release after a change of its record.
func (c *common) confirmLater(key release.Key) {
	if c.unproven.Any(key, c.newestSeen) {
		c.queues.confirm.Add(key)
	}
}

// newestSeen is proof.Verifier.Current as of the last event of the watch.
func (c *common) newestSeen(rec release.Record) release.Record {
	if now, found := c.records.Newest(rec.As); found && now.Status != release.StatusUninstalled {
		return now
	}
	now, _ := c.records.Newest(rec.Key)
	return now
}

// debug returns the logger for debug messages about a release. They have paths and names, and never a value.
func (c *common) debug(key release.Key) *logrus.Entry {
	return c.Log.WithField("release", key.String())
}

// complete returns an object to its lock and enqueues the lock if there is more to do.
func (c *common) complete(l *lock.Lock, w *lock.Work, o lock.Outcome) {
	o.Now = c.Clock.Now()
	if l.Done(w.ID, o) {
		c.queues.drift.Add(l.Key)
	}
	if l.Doubt != "" {
		c.queues.pruning.Add(l.Key) // for reviewDoubt
	}
	c.statusChanged(l.Key)
}
