package guard

import (
	"sync/atomic"

	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Options configure a Keeper.
type Options struct {
	// Client makes requests. Watch watches, and must have no time limit.
	Client, Watch kubernetes.Interface
	// Namespace and Secret name the Secret with the certificate.
	Namespace, Secret string
	// CertManager is set when cert-manager writes the Secret. The Keeper only reads it then.
	CertManager bool
	// Name is that of the ValidatingWebhookConfiguration.
	Name string
	// Service and Port are the API server's way to the guard: a Service in Namespace and its port. URL replaces them
	// when it is set: "https://host:port".
	Service string
	Port    int32
	URL     string
	// Leader replaces Service for the requests to change objects while no release denies.
	Leader Leader
	// ClientCA is a file with the authorities for client certificates of API servers. When it is empty, the guard
	// accepts every client.
	ClientCA string
	// Owner is the owning ClusterRole of the ValidatingWebhookConfiguration; empty for none.
	Owner string

	// Wanted returns the requests to send to the guard. It is called once Ready is closed.
	Wanted func() Wanted
	Ready  <-chan struct{}
	// Changed delivers a token when the result of Wanted may have changed.
	Changed <-chan struct{}
	// State receives the current state of the registration.
	State func(State)

	Clock clock.WithTicker
	Log   logrus.FieldLogger
}

// Keeper keeps the certificate, the registration and the leader's endpoint of the guard. Every replica runs one, to
// serve the newest certificate; the leader writes. It is level-triggered: each event makes it compare the actual state
// with the desired one.
type Keeper struct {
	Options
	host    string
	leading atomic.Bool
	looked  atomic.Bool
	kick    chan struct{}
	current atomic.Pointer[certificate]
	// secret, registration and slice are the last seen versions of the three objects; nil for none.
	secret       atomic.Pointer[corev1.Secret]
	registration atomic.Pointer[admissionregistrationv1.ValidatingWebhookConfiguration]
	slice        atomic.Pointer[discoveryv1.EndpointSlice]
	self         *string // the operator's own user; nil until it was asked for
}

// Leader is the API server's way to the replica that leads: a Service without a selector, with an EndpointSlice of the
// same name, which each leader points to itself. The leader alone reverts, so it alone can name the user of a change.
type Leader struct {
	// Service is the Service, in the namespace of the Keeper. The other fields are unused without it.
	Service string
	// IP is the address of this replica, and Port the port of its guard.
	IP   string
	Port int32
}
