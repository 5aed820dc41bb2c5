package policies

import (
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/release"
)

// Options configure the process. The options of an operator need the operator's values.
type Options struct {
	// ClientConfig is for the API server. Required.
	ClientConfig clientcmd.ClientConfig
	// Namespace is that of the policies and their HelmReleases; required.
	Namespace string
	// ControllerName claims policies, and what they make; required.
	ControllerName string
	// ShardSelector selects the policies by their labels; all when empty.
	ShardSelector string
	// NodeName becomes part of the identity in the leader election, and of events.
	NodeName string
	// PodUID is the uid of the Pod, or empty. With it, a restarted container does not wait for the lease of its killed
	// predecessor. At most one process of a Pod may take part in an election.
	PodUID string
	// ReleaseStorage is where Helm keeps release records: secret (when empty), configmap, or secret,configmap.
	ReleaseStorage string
	// Impersonate reports that the operator writes in the name of ServiceAccounts. No policy needs an acceptance then.
	Impersonate bool
	// Witnessed reports that the operator enforces trusted records only. No policy needs an acceptance then, either.
	Witnessed bool

	// MetricsAddress, HealthAddress, MetricsHosts, MetricsAuth and PprofEnabled are as those of an operator.
	MetricsAddress, HealthAddress string
	MetricsHosts                  []string
	MetricsAuth, PprofEnabled     bool

	// LeaderElection lets only one of several replicas write. LeaseDuration is 15 s when zero.
	LeaderElection bool
	LeaseDuration  time.Duration
	// Log receives all log lines; text on standard error at level info when nil.
	Log *logrus.Logger
	// Clock is for the time and for timers; the real one when nil.
	Clock clock.WithTicker

	// shard and lease are made of ShardSelector and ControllerName, storages of ReleaseStorage.
	shard    labels.Selector
	lease    string
	storages []release.Storage
}

func (o Options) complete() (_ Options, err error) {
	if o.ClientConfig == nil || o.Namespace == "" || o.ControllerName == "" {
		return o, errors.New("the policies need ClientConfig, Namespace and ControllerName")
	}
	if o.shard, o.lease, err = process.ShardOf(o.ControllerName, o.ShardSelector); err != nil {
		return o, err
	}
	o.lease += "-policies"
	if o.storages, err = release.ParseStorages(o.ReleaseStorage); err != nil {
		return o, err
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 15 * time.Second
	}
	if o.LeaseDuration < time.Second {
		return o, errors.New("a lease duration under one second cannot be kept up")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = logrus.New()
	}
	return o, nil
}
