package guard

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/cert"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Back-off between attempts after an error.
const (
	retryFirst  = time.Second
	retryLatest = time.Minute
	// idle is the time between two comparisons without an event.
	idle = time.Hour
)

// NewKeeper returns a Keeper. It returns an error if an API server cannot call the URL, or if the authorities of API
// servers cannot be read.
func NewKeeper(o Options) (*Keeper, error) {
	if o.ClientCA != "" {
		if _, err := cert.NewPool(o.ClientCA); err != nil {
			return nil, fmt.Errorf("guard: authorities of API servers: %w", err)
		}
	}
	k := &Keeper{Options: o, host: o.Service + "." + o.Namespace + ".svc", kick: make(chan struct{}, 1)}
	if o.URL == "" {
		return k, nil
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("guard URL: %w", err)
	}
	if u.Scheme != "https" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("guard URL %q: want https://HOST:PORT", o.URL)
	}
	k.host = u.Hostname()
	return k, nil
}

// Lead sets whether this replica writes the certificate and the registration.
func (k *Keeper) Lead(leads bool) {
	k.leading.Store(leads)
	k.again()
}

// Looked reports whether the Keeper has looked for the certificate, and serves it if there is one.
func (k *Keeper) Looked() bool { return k.looked.Load() }

func (k *Keeper) again() {
	select {
	case k.kick <- struct{}{}:
	default: // asked already
	}
}

// Run keeps them until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	var synced []cache.InformerSynced
	for _, informer := range k.informers() {
		synced = append(synced, informer.HasSynced)
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	delay := retryFirst
	for {
		next, err := k.keep(ctx)
		k.looked.Store(true)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			k.Log.Warnf("guard: %v; trying again in %s", err, delay)
			next, delay = delay, min(2*delay, retryLatest)
		default:
			delay = retryFirst
		}
		timer := k.Clock.NewTimer(next)
		select {
		case <-timer.C():
		case <-k.kick:
		case <-k.Changed:
		case <-k.untilReady():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// untilReady returns Ready until it is closed, and nil afterwards, so that a select does not spin.
func (k *Keeper) untilReady() <-chan struct{} {
	if k.isReady() {
		return nil
	}
	return k.Ready
}

func (k *Keeper) isReady() bool {
	select {
	case <-k.Ready:
		return true
	default:
		return false
	}
}

// informers returns an informer for each object of the Keeper.
func (k *Keeper) informers() []cache.Controller {
	one := func(client cache.Getter, resource, namespace, name string) cache.ListerWatcher {
		return cache.NewListWatchFromClient(client, resource, namespace,
			fields.OneTermEqualSelector(metav1.ObjectNameField, name))
	}
	all := []cache.Controller{
		informer(k, one(k.Watch.CoreV1().RESTClient(), "secrets", k.Namespace, k.Secret), &k.secret),
		informer(k, one(k.Watch.AdmissionregistrationV1().RESTClient(), "validatingwebhookconfigurations", "", k.Name),
			&k.registration),
	}
	if k.Leader.Service != "" {
		all = append(all, informer(k,
			one(k.Watch.DiscoveryV1().RESTClient(), "endpointslices", k.Namespace, k.Leader.Service), &k.slice))
	}
	return all
}

// informer keeps the last seen version of one object in seen.
func informer[T any, P interface {
	*T
	runtime.Object
}](k *Keeper, lw cache.ListerWatcher, seen *atomic.Pointer[T],
) cache.Controller {
	store := func(o any) {
		object, _ := o.(P)
		seen.Store(object)
		k.again()
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw, ObjectType: P(new(T)),
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: store, UpdateFunc: func(_, o any) { store(o) },
			DeleteFunc: func(any) { store(nil) }},
	})
	return controller
}

// keep compares the actual state with the desired one. It returns the time until the next comparison without an event.
func (k *Keeper) keep(ctx context.Context) (time.Duration, error) {
	now := k.Clock.Now()
	have, lacks := k.certificate(k.secret.Load(), now)
	if !k.leading.Load() {
		return idle, nil
	}
	if !k.CertManager && (have == nil || now.After(have.renewAt()) || !have.covers(k.leaderHosts()...)) {
		secret, err := k.writeCertificate(ctx, k.secret.Load())
		if err != nil {
			k.State(State{Reason: v1alpha1.ReasonGuardCertificate, Message: err.Error()})
			return 0, err
		}
		have, lacks = k.certificate(secret, now)
	}
	if have == nil {
		k.State(State{Reason: v1alpha1.ReasonGuardCertificate, Message: lacks})
		return retryLatest, nil // cert-manager has to do something, which is seen, or its certificate is not valid yet
	}
	if !k.isReady() {
		return idle, nil
	}
	asked := k.Wanted()
	service, notToLeader := k.service(ctx, have, asked)
	if err := k.register(ctx, have, asked, service); err != nil {
		k.State(State{Reason: v1alpha1.ReasonGuardNotRegistered, Message: err.Error()})
		return 0, err
	}
	k.State(State{Asked: asked})
	if notToLeader != nil { // an attempt later may succeed without an event
		return 0, notToLeader
	}
	if k.CertManager { // a renewal is seen, and none is to be seen in the status
		return max(have.serves.Leaf.NotAfter.Sub(now), retryFirst), nil
	}
	return max(have.renewAt().Sub(now), retryFirst), nil
}

// certificate starts to serve the certificate of a Secret and returns it. Without a valid one, lacks is the reason.
func (k *Keeper) certificate(secret *corev1.Secret, now time.Time) (have *certificate, lacks string) {
	have, err := readCertificate(secret, k.host, now)
	if err != nil {
		return nil, err.Error()
	}
	k.current.Store(have)
	return have, ""
}
