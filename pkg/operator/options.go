package operator

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// Values of TrustRecords.
const (
	// TrustAny enforces every release record.
	TrustAny = "Any"
	// TrustWitnessed enforces a release record as far as its writer may carry it out without the operator. It needs a
	// guard: the API server asks about each record.
	TrustWitnessed = "Witnessed"
)

// ControllerOptions configure an operator. The first five are the classic ones. An embedded operator with no others set
// opens no port.
type ControllerOptions struct {
	// ClientConfig is for the API server. Required.
	ClientConfig clientcmd.ClientConfig
	// Namespace is the namespace of the HelmReleases, DefaultNamespace when empty.
	Namespace string
	// ControllerName claims HelmReleases; operators of different names share a cluster. DefaultControllerName when
	// empty.
	ControllerName string
	// ShardSelector is a label selector in kubectl's form for the HelmReleases of this operator, all when empty.
	// Several operators of one name can split the HelmReleases of a namespace by it.
	ShardSelector string
	// NodeName is the operator's node. It becomes part of its identity in the leader election and of its events.
	NodeName string
	// PodUID is the uid of the Pod, or empty. With it, a restarted container does not wait for the lease of its killed
	// predecessor. At most one process of a Pod may take part in an election.
	PodUID string
	// PprofEnabled serves Go's profiles on localhost:6060.
	PprofEnabled bool

	// MetricsAddress serves /metrics, for example ":8080"; nothing is served when empty.
	MetricsAddress string
	// HealthAddress serves /healthz and /readyz, for example ":8081"; nothing is served when empty.
	HealthAddress string
	// Registerer receives the operator's metrics while it runs, for an embedding program with /metrics of its own; none
	// when nil. Metrics of Go and of the process are not among them.
	Registerer prometheus.Registerer
	// Ready is called once before the operator works, for an embedding program with a readiness probe of its own. Its
	// argument returns the reason why the operator does not watch and judge yet, nil when it does. Any goroutine may
	// call it.
	Ready func(reason func() error)
	// MetricsHosts are further host names for requests to the metrics, beside addresses, localhost and names inside of
	// the cluster.
	MetricsHosts []string
	// MetricsAuth requires a bearer token of a user with the right to get the path /metrics.
	MetricsAuth bool
	// Guard configures the guard, which denies changes in advance; none when unset.
	Guard GuardOptions
	// TrustRecords is TrustAny (when empty) or TrustWitnessed.
	TrustRecords string
	// NeverWriters are users whose writes make no record trusted, such as programs that store Secrets for others, each
	// as User:NAME, Group:NAME or ServiceAccount:NAMESPACE/NAME. Those of the operator itself never do.
	NeverWriters []string
	// LeaderElection lets only one of several operators of one name write; the others stand by with warm watches.
	LeaderElection bool
	// LeaseDuration is the time after which a standby replaces a vanished leader; 15 s when zero.
	LeaseDuration time.Duration
	// Events serves the operator's actions as a stream, at /events of the MetricsAddress, over TLS. It requires a
	// bearer token of a user with the right to get that path. Readers find the address in the operator's Lease.
	Events bool
	// SkipCRD leaves the CustomResourceDefinition to another installer.
	SkipCRD bool
	// ReleaseStorage is where Helm keeps release records: secret (when empty), configmap, or secret,configmap. The
	// values are those of Helm's HELM_DRIVER.
	ReleaseStorage string
	// ObjectSetMetadata writes wrangler's classic ObjectSet labels and annotations on the objects of locked releases.
	ObjectSetMetadata bool
	// Impersonate makes the operator write every object of a release as a ServiceAccount in the namespace of the
	// release: the one in spec.serviceAccountName, or else DefaultServiceAccount. A release with neither is not locked.
	// Without Impersonate, only spec.serviceAccountName has that effect.
	Impersonate bool
	// DefaultServiceAccount needs Impersonate.
	DefaultServiceAccount string
	// Log receives all log lines; text on standard error at level info when nil.
	Log *logrus.Logger

	// Clock is for the time and for timers; the real one when nil. Tests make time pass with it.
	Clock clock.WithTicker

	// shard and lease are parsed from ShardSelector and ControllerName, storages from ReleaseStorage.
	shard    labels.Selector
	lease    string
	storages []release.Storage
	// never is parsed from NeverWriters.
	never []v1alpha1.GuardSubject
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
	if _, err := o.Guard.check(); err != nil {
		return o, err
	}
	if err := o.completeTrust(); err != nil {
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

// accounts returns the policy for the accounts of writes.
func (o ControllerOptions) accounts() accounts.Policy {
	return accounts.Policy{Impersonate: o.Impersonate, DefaultServiceAccount: o.DefaultServiceAccount}
}

// NewLogger returns a logger that writes to w at a level (error, warn, info, debug, trace) in a format (text, json).
func NewLogger(w io.Writer, level, format string) (*logrus.Logger, error) {
	return process.NewLogger(w, level, format)
}

// completeTrust sets the default of TrustRecords, and parses NeverWriters.
func (o *ControllerOptions) completeTrust() (err error) {
	switch {
	case o.TrustRecords == "":
		o.TrustRecords = TrustAny
	case o.TrustRecords != TrustAny && o.TrustRecords != TrustWitnessed:
		return fmt.Errorf("trust in records %q: use %s or %s", o.TrustRecords, TrustAny, TrustWitnessed)
	case o.TrustRecords == TrustWitnessed && !o.Guard.served():
		return errors.New("the API server has to ask about records: with --trust-records=Witnessed, set " +
			"--guard-address")
	}
	o.never, err = neverWriters(o.NeverWriters)
	return err
}

// neverWriters parses NeverWriters.
func neverWriters(texts []string) (subjects []v1alpha1.GuardSubject, _ error) {
	for _, text := range texts {
		kind, name, _ := strings.Cut(text, ":")
		s := v1alpha1.GuardSubject{Kind: v1alpha1.GuardSubjectKind(kind), Name: name}
		valid := s.Kind == v1alpha1.GuardSubjectUser || s.Kind == v1alpha1.GuardSubjectGroup
		if s.Kind == v1alpha1.GuardSubjectServiceAccount {
			s.Namespace, s.Name, valid = strings.Cut(name, "/")
			valid = valid && s.Namespace != ""
		}
		if !valid || s.Name == "" {
			return nil, fmt.Errorf("writer %q: use User:NAME, Group:NAME or ServiceAccount:NAMESPACE/NAME", text)
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}
