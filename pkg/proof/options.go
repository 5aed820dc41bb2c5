package proof

import (
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Options configure a Verifier.
type Options struct {
	// Metadata lists records.
	Metadata metadata.Interface
	// Storages are the storages of records; Secrets when there are none.
	Storages []release.Storage
	// Fence is the operator's own Secret for fences, written by Secrets. There are no fences when it has no name, or
	// when there are records in other storages than Secrets.
	Fence   types.NamespacedName
	Secrets typedcorev1.SecretsGetter
	// Records is the watch of records that delivers fences, too.
	Records View
	// ListsReadStorage makes the verifier prefer fences to all lists (see ListsReadStorage).
	ListsReadStorage bool
	Log              logrus.FieldLogger
}

// View is the state of a watch of the records of all releases.
type View interface {
	// Fence returns a new token and a channel. The channel is closed when the watch has delivered the Secret for fences
	// with that token in the annotation release.FenceAnnotation. The view then has everything written before the
	// Secret. Only one fence is in flight at a time.
	Fence() (token string, seen <-chan struct{})
	// Current returns the newest record of a release, false when there is none, an error when that is unknown.
	Current(release.Key) (release.Record, bool, error)
	// Ended is closed when the view has ended and delivers no more.
	Ended() <-chan struct{}
}
