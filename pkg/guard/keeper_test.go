package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

var (
	closed     = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	configMaps = Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Namespaced:           true,
	}
	webs = Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Namespaced:           true,
		Scale:                true,
	}
	roles = Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1",
			Resource: "clusterroles"},
	}
	pods = Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespaced: true}
)

// keeper returns a leading Keeper that works with a fake API server, whose answers are seen at once.
type keeper struct {
	*Keeper
	client *fake.Clientset
	clock  *clocktesting.FakeClock
	wanted Wanted
	state  State
}

func newKeeper(t *testing.T, change func(*Options)) *keeper {
	t.Helper()
	k := &keeper{client: fake.NewClientset(), clock: clocktesting.NewFakeClock(time.Now())}
	o := Options{
		Client:    k.client,
		Watch:     k.client,
		Namespace: "locker",
		Secret:    "locker-guard",
		Name:      "locker-locker-guard",
		Service:   "guard",
		Port:      443,
		Wanted:    func() Wanted { return k.wanted },
		Ready:     closed,
		State:     func(s State) { k.state = s },
		Clock:     k.clock,
		Log:       fixture.Quiet(),
	}
	if change != nil {
		change(&o)
	}
	made, err := NewKeeper(o)
	check.NoError(t, err)
	made.leading.Store(true)
	k.Keeper = made
	return k
}

// writes returns the verbs and resources of the writes so far, and forgets them.
func (k *keeper) writes() (writes []string) {
	for _, a := range k.client.Actions() {
		if v := a.GetVerb(); (v == "create" || v == "update" || v == "delete") &&
			a.GetResource().Resource != "selfsubjectreviews" {
			writes = append(writes, v+" "+a.GetResource().Resource)
		}
	}
	k.client.ClearActions()
	return writes
}

func (k *keeper) step(t *testing.T) time.Duration {
	t.Helper()
	next, err := k.keep(context.WithoutCancel(t.Context()))
	check.NoError(t, err)
	return next
}

func TestKeeperRegistersWhatIsWanted(t *testing.T) {
	log, logged := logtest.NewNullLogger()
	k := newKeeper(t, func(o *Options) { o.Log = log })
	k.step(t)
	got := k.writes()
	check.That(t, slices.Equal(got, []string{"create secrets"}), "nothing is wanted: %v", got)
	k.wanted = Wanted{Resources: []Resource{webs, configMaps, pods, roles}, Namespaces: []string{"apps"}}
	k.client.PrependReactor("create", "selfsubjectreviews",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
				UserInfo: authenticationv1.UserInfo{Username: "the-operator"}}}, nil
		})
	k.step(t)
	got = k.writes()
	check.That(t, slices.Equal(got, []string{"create validatingwebhookconfigurations"}) && k.state.Asked.Covers(&k.wanted),
		"something is wanted: %v, %+v", got, k.state)
	last := logged.LastEntry()
	check.That(t, last != nil && strings.Contains(last.Message, "runs as user the-operator"),
		"the log does not warn of a user that is no ServiceAccount: %v", last)
	hooks := k.registration.Load().Webhooks
	check.That(t,
		len(hooks) == 2 && *hooks[0].FailurePolicy == admissionregistrationv1.Ignore && *hooks[0].TimeoutSeconds == 2 &&
			len(hooks[0].Rules) == 8 && *hooks[0].Rules[7].Scope == admissionregistrationv1.ClusterScope, "%+v", hooks)
	conditions := hooks[1].MatchConditions
	check.That(t,
		len(conditions) == 2 && len(hooks[0].MatchConditions) == 3 &&
			conditions[1].Expression == `request.userInfo.username != "the-operator"`, "conditions %v", conditions)
	var subresources []string
	for _, r := range hooks[1].Rules {
		subresources = append(subresources, r.Resources...)
	}
	check.That(t, slices.Equal(subresources, []string{"deployments/scale", "pods/resize"}), "subresources %v",
		subresources)
	k.step(t)
	got = k.writes()
	check.That(t, len(got) == 0, "nothing has changed: %v", got)
	edited := k.registration.Load().DeepCopy()
	edited.Webhooks[0].Rules = nil
	k.registration.Store(edited)
	k.step(t)
	got = k.writes()
	check.That(t,
		slices.Equal(got, []string{"update validatingwebhookconfigurations"}) &&
			len(k.registration.Load().Webhooks[0].Rules) == 8, "an edit: %v", got)
	k.wanted = Wanted{}
	k.step(t)
	got = k.writes()
	check.That(t, slices.Equal(got, []string{"delete validatingwebhookconfigurations"}) && k.registration.Load() == nil,
		"nothing is wanted any more: %v", got)
}

// A standby serves, and writes nothing; neither does a leader before it knows its scope.
func TestKeeperWritesOnlyAsALeaderThatKnows(t *testing.T) {
	k := newKeeper(t, nil)
	k.wanted = Wanted{Resources: []Resource{roles}}
	k.leading.Store(false)
	k.step(t)
	got := k.writes()
	check.That(t, len(got) == 0, "a standby: %v", got)
	k.leading.Store(true)
	k.Ready = make(chan struct{})
	k.step(t)
	got = k.writes()
	check.That(t, slices.Equal(got, []string{"create secrets"}), "at the start: %v", got)
}

// A certificate is renewed at two thirds of its life, and those who trust the one before are served meanwhile.
func TestKeeperRenewsTheCertificate(t *testing.T) {
	k := newKeeper(t, nil)
	next := k.step(t)
	want := lifetime * 2 / 3
	check.That(t, next >= want-2*time.Hour && next <= want, "renewed in %s, want about %s", next, want)
	first, path := k.secret.Load(), k.Path()
	k.clock.Step(next + time.Minute)
	k.step(t)
	second := k.secret.Load()
	check.Must(t, !bytes.Equal(first.Data[corev1.TLSCertKey], second.Data[corev1.TLSCertKey]), "it was not renewed")
	authorities, err := cert.ParseCertsPEM(second.Data[caKey])
	check.NoError(t, err)
	check.That(t, len(authorities) == 2 && k.Path() == path, "%d authorities, path %s", len(authorities), k.Path())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(second.Data[caKey])
	for _, secret := range []*corev1.Secret{first, second} {
		pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
		check.NoError(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "guard.locker.svc"})
		check.Report(t, err)
	}
	served, err := k.TLS().GetCertificate(nil)
	check.NoError(t, err)
	check.That(t, served.Leaf.Equal(k.current.Load().serves.Leaf), "the old certificate is served")
}

func TestKeeperReplacesWhatCannotServe(t *testing.T) {
	for name, spoil := range map[string]func(*corev1.Secret){
		"junk":         func(s *corev1.Secret) { s.Data[corev1.TLSCertKey] = []byte("junk") },
		"empty":        func(s *corev1.Secret) { s.Data = nil },
		"no authority": func(s *corev1.Secret) { delete(s.Data, caKey) },
		"another host": func(s *corev1.Secret) {
			data, err := newCertificate("elsewhere", nil, nil)
			check.NoError(t, err)
			s.Data = data
		},
	} {
		k := newKeeper(t, nil)
		k.step(t)
		spoilt := k.secret.Load().DeepCopy()
		spoil(spoilt)
		k.secret.Store(spoilt)
		k.writes()
		k.step(t)
		got := k.writes()
		check.That(t, slices.Equal(got, []string{"update secrets"}), "%s: %v", name, got)
		_, err := readCertificate(k.secret.Load(), "guard.locker.svc", k.clock.Now())
		check.That(t, err == nil, "%s: %v", name, err)
	}
}

// The Secret of cert-manager is only read, and reported as missing while it is.
func TestKeeperLeavesTheSecretToCertManager(t *testing.T) {
	k := newKeeper(t, func(o *Options) { o.CertManager = true })
	k.wanted = Wanted{Resources: []Resource{roles}}
	k.step(t)
	got := k.writes()
	check.That(t, len(got) == 0 && k.state.Reason == v1alpha1.ReasonGuardCertificate, "%v, %+v", got, k.state)
	data, err := newCertificate("guard.locker.svc", nil, nil)
	check.NoError(t, err)
	k.secret.Store(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "locker-guard", UID: "1"}, Data: data})
	next := k.step(t)
	got = k.writes()
	check.That(t, slices.Equal(got, []string{"create validatingwebhookconfigurations"}) && k.state.Reason == "", "%v, %+v",
		got, k.state)
	k.clock.Step(next + time.Second) // the keeper wakes up by itself when the certificate has run out
	k.step(t)
	got = k.writes()
	check.That(t,
		len(got) == 0 && k.state.Reason == v1alpha1.ReasonGuardCertificate &&
			strings.Contains(k.state.Message, "is valid from"), "expired: %v, %+v", got, k.state)
}

func TestKeeperSaysWhatFails(t *testing.T) {
	k := newKeeper(t, nil)
	k.wanted = Wanted{Resources: []Resource{roles}}
	k.client.PrependReactor("create", "validatingwebhookconfigurations",
		func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	_, err := k.keep(context.WithoutCancel(t.Context()))
	check.That(t,
		err != nil && k.state.Reason == v1alpha1.ReasonGuardNotRegistered &&
			strings.Contains(k.state.Message, "forbidden"),
		"%v, %+v", err, k.state)
}

func TestURLsOfGuards(t *testing.T) {
	for url, ok := range map[string]bool{"https://10.0.0.1:9443": true, "https://host": true, "http://host": false,
		"https://host/path": false, "https://": false, "host:1": false, "https://a:b@host": false} {
		_, err := NewKeeper(Options{URL: url})
		check.That(t, (err == nil) == ok, "%s: %v", url, err)
	}
}

// The leader alone is asked while no release denies changes, the Service of the leader is there, and the certificate is
// for it, too. Records are witnessed by all replicas.
func TestKeeperAsksTheLeaderWhileNoReleaseDenies(t *testing.T) {
	k := newKeeper(t, func(o *Options) { o.Leader = Leader{Service: "leader", IP: "10.0.0.7", Port: 9443} })
	k.wanted = Wanted{Resources: []Resource{webs}, Namespaces: []string{"apps"}, Records: []string{"secrets"}}
	asked := func(what string, want ...string) {
		t.Helper()
		k.step(t)
		var got []string
		for _, hook := range k.registration.Load().Webhooks {
			got = append(got, hook.ClientConfig.Service.Name)
		}
		check.That(t, slices.Equal(got, want), "%s: the API server asks %v, want %v", what, got, want)
	}
	if _, err := k.keep(t.Context()); err == nil {
		t.Error("no other attempt is made without a Service of the leader")
	}
	all := k.registration.Load().Webhooks
	check.That(t, len(all) == 3 && all[0].ClientConfig.Service.Name == "guard",
		"without a Service of the leader the API server asks by %+v", all)
	_, err := k.client.CoreV1().Services("locker").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "locker", Name: "leader", UID: "of the Service"}}, metav1.CreateOptions{})
	check.NoError(t, err)
	asked("with one", "leader", "guard", "leader")
	slice := k.slice.Load()
	check.That(t,
		slice.Endpoints[0].Addresses[0] == "10.0.0.7" && *slice.Ports[0].Port == 9443 &&
			slice.Labels["kubernetes.io/service-name"] == "leader" && slice.OwnerReferences[0].UID == "of the Service",
		"the endpoint is %+v", slice)
	k.writes()
	k.step(t)
	got := k.writes()
	check.That(t, len(got) == 0, "nothing has changed: %v", got)

	other := slice.DeepCopy()
	other.Endpoints[0].Addresses[0] = "10.0.0.8"
	k.slice.Store(other)
	asked("after another leader", "leader", "guard", "leader")
	got = k.writes()
	check.That(t, slices.Equal(got, []string{"update endpointslices"}), "after another leader: %v", got)

	k.wanted.Denies = true
	asked("a release denies", "guard", "guard", "guard")
	k.wanted.Denies = false
	k.CertManager = true
	data, err := newCertificate("guard.locker.svc", nil, nil)
	check.NoError(t, err)
	secret := k.secret.Load().DeepCopy()
	secret.Data = data
	k.secret.Store(secret)
	asked("the certificate of cert-manager is not yet for the leader", "guard", "guard", "guard")
	k.CertManager = false
	k.step(t)
	asked("it is renewed", "leader", "guard", "leader")
}
