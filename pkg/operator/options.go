package operator

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/release"
)

// Defaults of the classic options.
const (
	DefaultNamespace      = v1alpha1.DefaultNamespace
	DefaultControllerName = v1alpha1.DefaultControllerName
)

// ControllerOptions configure an operator. The first five are the classic ones; a program that embeds the operator and
// sets nothing else gets an operator that opens no port.
type ControllerOptions struct {
	// ClientConfig says how to reach the API server. Required.
	ClientConfig clientcmd.ClientConfig
	// Namespace is where HelmReleases count, DefaultNamespace when empty.
	Namespace string
	// ControllerName claims HelmReleases; operators of different names share a cluster. DefaultControllerName when
	// empty.
	ControllerName string
	// ShardSelector is a label selector, as kubectl takes it: only HelmReleases with such labels count.
	// Several operators of one name split the HelmReleases of a namespace that way. All of them when empty.
	ShardSelector string
	// NodeName is the node that the operator runs on; it becomes part of its identity in the leader election and of
	// its events.
	NodeName string
	// PprofEnabled serves Go's profiles on localhost:6060.
	PprofEnabled bool

	// MetricsAddress serves /metrics, for example ":8080"; nothing is served when empty.
	MetricsAddress string
	// HealthAddress serves /healthz and /readyz, for example ":8081"; nothing is served when empty.
	HealthAddress string
	// MetricsHosts are host names by which the metrics may be asked for, beside addresses, localhost and names
	// inside of the cluster.
	MetricsHosts []string
	// MetricsAuth lets only those read the metrics whose bearer token is one of a user that may get the path /metrics.
	MetricsAuth bool
	// Guard says how the API server reaches the guard, which refuses changes before they happen; none when unset.
	Guard GuardOptions
	// LeaderElection lets only one of several operators of one name write; the others stand by with warm watches.
	LeaderElection bool
	// LeaseDuration is how long a leader that vanished is waited for; 15 s when zero.
	LeaseDuration time.Duration
	// Events serves what the operator does as a stream, at /events of the MetricsAddress, over TLS: only to those whose
	// bearer token is one of a user that may get that path. The Lease of the operator leads readers to it.
	Events bool
	// SkipCRD leaves the CustomResourceDefinition to another installer.
	SkipCRD bool
	// ReleaseStorage is where Helm keeps release records: secret (when empty), configmap, or secret,configmap. It says
	// what the drivers of Helm say, HELM_DRIVER.
	ReleaseStorage string
	// ObjectSetMetadata writes wrangler's classic ObjectSet labels and annotations on the objects of locked releases.
	ObjectSetMetadata bool
	// Impersonate has every object of a release written in the name of a ServiceAccount in the namespace of the
	// release, never in the operator's own: of the one that spec.serviceAccountName names, else of
	// DefaultServiceAccount. A release for which neither is given is not locked. Without Impersonate only
	// spec.serviceAccountName has that effect.
	Impersonate bool
	// DefaultServiceAccount needs Impersonate.
	DefaultServiceAccount string
	// Log receives all log lines; text on standard error at level info when nil.
	Log *logrus.Logger

	// Clock tells the time and times what waits; the real one when nil. Tests make time pass with it.
	Clock clock.WithTicker

	// shard and lease are made of ShardSelector and ControllerName, storages of ReleaseStorage.
	shard    labels.Selector
	lease    string
	storages []release.Storage
}

func (o ControllerOptions) complete() (_ ControllerOptions, err error) {
	if o.ClientConfig == nil {
		return o, errors.New("no client configuration: set ClientConfig")
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.ControllerName == "" {
		o.ControllerName = DefaultControllerName
	}
	if o.shard, o.lease, err = process.ShardOf(o.ControllerName, o.ShardSelector); err != nil {
		return o, err
	}
	if o.storages, err = release.ParseStorages(o.ReleaseStorage); err != nil {
		return o, err
	}
	if _, _, err := o.Guard.check(); err != nil {
		return o, err
	}
	if o.Guard.Secret == "" {
		o.Guard.Secret = o.lease + judge.GuardSuffix
	}
	if o.Events && !process.Asked(o.MetricsAddress) {
		return o, errors.New(
			"events are served at the address of the metrics: set MetricsAddress (--metrics-address), too")
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 15 * time.Second
	}
	if o.LeaseDuration < time.Second {
		return o, errors.New("a lease duration under one second cannot be kept up")
	}
	if o.DefaultServiceAccount != "" {
		if !o.Impersonate {
			return o, errors.New(
				"a default service account has no effect without impersonation: set Impersonate (--impersonate), too",
			)
		}
		if problems := validation.NameIsDNSSubdomain(o.DefaultServiceAccount, false); len(problems) > 0 {
			return o, fmt.Errorf("default service account %q: %s", o.DefaultServiceAccount,
				strings.Join(problems, "; "))
		}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = logrus.New()
	}
	return o, nil
}

// accounts returns in whose name objects are written.
func (o ControllerOptions) accounts() accounts.Policy {
	return accounts.Policy{Impersonate: o.Impersonate, DefaultServiceAccount: o.DefaultServiceAccount}
}

// NewLogger returns a logger that writes to w at a level (error, warn, info, debug, trace) in a format (text, json).
func NewLogger(w io.Writer, level, format string) (*logrus.Logger, error) {
	return process.NewLogger(w, level, format)
}
