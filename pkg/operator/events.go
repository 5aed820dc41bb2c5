package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	leases "github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/serving"
	eventstream "github.com/rancher/helm-locker/pkg/stream"
	"github.com/rancher/helm-locker/pkg/viewer"
)

// drainTime bounds the wait of an ending operator for the readers of its events. Kubernetes kills a Pod 30 s after the
// signal to stop.
const drainTime = 5 * time.Second

// events are the stream of an operator and the way to it: the leader writes its address and its certificate into its
// Lease. A reader trusts this certificate alone, so only a writer of the Lease can pass for the operator. The private
// key never leaves the process.
type events struct {
	*eventstream.Stream
	identity    tls.Certificate
	certificate string // in PEM form
	address     string // host and port
}

// newEvents returns the events of an operator; nil when none are asked for.
func newEvents(conn *connection, o ControllerOptions) (*events, error) {
	if !o.Events {
		return nil, nil
	}
	identity, certificate, err := newIdentity(time.Now())
	if err != nil {
		return nil, fmt.Errorf("certificate of the events: %w", err)
	}
	viewers := viewer.New(conn.Kubernetes, o.Clock, o.Log)
	access := viewer.Access{Path: &authorizationv1.NonResourceAttributes{Path: leases.EventsPath, Verb: "get"}}
	admit := func(r *http.Request) (string, *viewer.Refusal) {
		user, refused := viewers.Require(r, access)
		return user.Name(), refused
	}
	return &events{Stream: eventstream.New(admit, o.Log), identity: identity, certificate: certificate}, nil
}

// notifier returns the events for the controller; nil for none.
func (e *events) notifier() reporting.Notifier {
	if e == nil {
		return nil
	}
	return e
}

// drain ends the stream, and waits for its readers for a while.
func (e *events) drain(ctx context.Context) {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	e.End(ctx)
}

// newIdentity returns a key and a self-signed certificate for lease.EventsHost, the name of every operator.
func newIdentity(now time.Time) (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	// The certificate ends with the process; its times allow for clock skew and long lives.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), DNSNames: []string{leases.EventsHost},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(text), nil
}

// on returns a listener that accepts TLS beside plain HTTP, and keeps its address for the Lease.
func (e *events) on(listener net.Listener, log logrus.FieldLogger) (net.Listener, error) {
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		if ip, err = utilnet.ResolveBindAddress(nil); err != nil {
			// A failure must not stop the operator, so readers of this machine remain.
			log.Warnf("events: no address for readers but this machine's own: %v", err)
			ip = net.IPv6loopback
		}
		host = ip.String()
	}
	e.address = net.JoinHostPort(host, port)
	return serving.Either(listener, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{e.identity},
	}), nil
}

// announce writes into a Lease how readers reach the operator.
func (e *events) announce(lease *coordinationv1.Lease) {
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[leases.EventsAddress] = e.address
	lease.Annotations[leases.EventsCertificate] = e.certificate
}

// begin begins the stream under a Lease as it was written.
func (e *events) begin(lease *coordinationv1.Lease) {
	e.Begin(string(lease.UID), int64(transitions(lease)))
}

// announcing is the client of the election. It adds the announcement of the events to the election's writes.
type announcing struct {
	typedcoordinationv1.LeasesGetter
	events *events
}

func (a announcing) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return announcingLeases{a.LeasesGetter.Leases(namespace), a.events}
}

type announcingLeases struct {
	typedcoordinationv1.LeaseInterface
	events *events
}

// Get reads a Lease, and from it the address of the leader.
func (l announcingLeases) Get(
	ctx context.Context, name string, options metav1.GetOptions,
) (*coordinationv1.Lease, error) {
	lease, err := l.LeaseInterface.Get(ctx, name, options)
	if err == nil {
		l.events.Leader(lease.Annotations[leases.EventsAddress])
	}
	return lease, err
}

func (l announcingLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	l.events.announce(lease)
	written, err := l.LeaseInterface.Create(ctx, lease, options)
	if err == nil {
		l.events.begin(written)
	}
	return written, err
}

func (l announcingLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" { // it is given up
		return l.LeaseInterface.Update(ctx, lease, options)
	}
	l.events.announce(lease)
	written, err := l.LeaseInterface.Update(ctx, lease, options)
	if err == nil {
		l.events.begin(written)
	}
	return written, err
}

// announceAlone announces the events of an operator without election, and retries until it succeeds. The Lease then has
// no holder and no time, and so claims nothing about a leader.
func (e *events) announceAlone(ctx context.Context, conn *connection, o ControllerOptions) {
	client := conn.leases.Leases(o.Namespace)
	delay := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 7, Cap: time.Minute}.DelayFunc()
	// The error is that of ctx.
	_ = delay.Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		written, err := e.writeAlone(ctx, client, o)
		if err == nil {
			e.begin(written)
		} else if ctx.Err() == nil {
			o.Log.Warnf("events: cannot announce them in the Lease %s/%s: %v; trying again", o.Namespace, o.lease, err)
		}
		return err == nil, nil
	})
}

func (e *events) writeAlone(
	ctx context.Context, client typedcoordinationv1.LeaseInterface, o ControllerOptions,
) (*coordinationv1.Lease, error) {
	lease, err := client.Get(ctx, o.lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.lease}}
		e.announce(lease)
		return client.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	lease.Spec = coordinationv1.LeaseSpec{LeaseTransitions: new(transitions(lease) + 1)}
	e.announce(lease)
	return client.Update(ctx, lease, metav1.UpdateOptions{})
}

func transitions(lease *coordinationv1.Lease) int32 {
	if lease.Spec.LeaseTransitions == nil {
		return 0
	}
	return *lease.Spec.LeaseTransitions
}
