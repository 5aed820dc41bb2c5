package controller

import (
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/enforce"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Clients are the connections to the API server. Requests have time limits, watches have none, so they are separate.
type Clients struct {
	Kubernetes    kubernetes.Interface
	Discovery     discovery.DiscoveryInterface
	Dynamic       dynamic.Interface
	Metadata      metadata.Interface
	Accounts      *enforce.Accounts
	WatchDynamic  dynamic.Interface
	WatchObjects  *watch.Client
	WatchMetadata metadata.Interface
	HelmReleases  helmcontrollers.HelmReleaseController
	// ListsReadStorage is the cost of consistent lists (see proof.ListsReadStorage).
	ListsReadStorage bool
}

// Options configure a Controller.
type Options struct {
	// Namespace is where HelmReleases count; those in other namespaces are ignored.
	Namespace string
	// Name is the controller name that claims HelmReleases.
	Name string
	// Shard selects, by their labels, the HelmReleases to manage; nil for all.
	Shard labels.Selector
	// Storages are the storages of release records.
	Storages []release.Storage
	// GuardSecret is the name of the Secret with the guard's certificate, whether or not a guard is served.
	GuardSecret string
	// ObjectSetMetadata writes wrangler's ObjectSet labels and annotations on reverted objects.
	ObjectSetMetadata bool
	// Witnessed is set if only trusted records are enforced.
	Witnessed bool
	// NeverWriters are users whose writes make no record trusted.
	NeverWriters []v1alpha1.GuardSubject
	// Accounts selects the user to impersonate for writes to a release.
	Accounts accounts.Policy

	Clock   clock.WithTicker
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
	Events  record.EventRecorder
	// Notify receives the content of the events, for people and programs outside the cluster; nil for none.
	Notify reporting.Notifier
}
