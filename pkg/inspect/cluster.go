// Package inspect reads Helm releases and compares them with their live objects. It reads the records of a release from
// a cluster or a file, and returns the differences between the declared and the live objects. It writes nothing: beyond
// reads, it sends only dry runs to the API server. Its results hold no value of a Secret unless a caller asks for it.
package inspect

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/version"
	"github.com/rancher/helm-locker/pkg/watch"
)

// requestTimeout bounds every request but watches.
const requestTimeout = 30 * time.Second

// Cluster is where releases are read. It is safe for concurrent use.
type Cluster struct {
	// Dynamic has no timeout: it serves watches, too.
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface

	kubernetes kubernetes.Interface
	metadata   metadata.Interface
	storages   []release.Storage
	kinds      *watch.Kinds
	enforcer   *enforce.Enforcer
}

// Connect returns the cluster of config. Dry runs impersonate CompareOptions.Account by way of accounts, which may be
// nil when no comparison names an account. Records are read in the storages, in Secrets when there are none. Connect
// makes no request.
func Connect(config *rest.Config, accounts *enforce.Accounts, storages ...release.Storage) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "helm-locker/" + version.Version
	unbounded, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	if len(storages) == 0 {
		storages = []release.Storage{release.Secrets}
	}
	c := &Cluster{Dynamic: unbounded, storages: storages}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	if c.kubernetes, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if c.metadata, err = watch.NewMetadataClient(config); err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	bounded, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	c.kinds = watch.NewKinds(c.Discovery, clock.RealClock{})
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	guard := proof.New(proof.Options{Metadata: c.metadata, Storages: storages})
	c.enforcer = enforce.New(c.Discovery, bounded, accounts, guard, silent)
	return c, nil
}

// Storages returns where records are read.
func (c *Cluster) Storages() []release.Storage { return c.storages }

// Enforcer returns the writer of the cluster, for callers with changes to make.
func (c *Cluster) Enforcer() *enforce.Enforcer { return c.enforcer }

// Metadata returns the client that reads the metadata of objects and no content.
func (c *Cluster) Metadata() metadata.Interface { return c.metadata }

// User returns the name by which the API server knows the user of the connection.
func (c *Cluster) User(ctx context.Context) (string, error) {
	review, err := c.kubernetes.AuthenticationV1().SelfSubjectReviews().Create(ctx,
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask for the name of the user: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// Reachable returns nil when the API server answers, and the reason otherwise.
func (c *Cluster) Reachable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := c.Discovery.ServerVersion(); err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	return nil
}
