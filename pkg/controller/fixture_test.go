package controller_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fakeapi"
)

const system, apps = "cattle-helm-system", fakeapi.Namespace

// fixture is an operator on an API server in memory.
type fixture struct{ *fakeapi.Server }

// newFixture returns an API server without an operator.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{fakeapi.New(t)}
}

// start runs an operator until the test ends.
func (f *fixture) start(edit ...func(*operator.ControllerOptions)) *messages {
	log, said := logrus.New(), &messages{TB: f}
	log.AddHook(said)
	log.SetOutput(io.Discard)
	if testing.Verbose() {
		log.SetOutput(f.Output())
		log.SetLevel(logrus.DebugLevel)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["fake"] = &clientcmdapi.Cluster{Server: f.Config().Host}
	config.Contexts["fake"] = &clientcmdapi.Context{Cluster: "fake"}
	config.CurrentContext = "fake"
	options := operator.ControllerOptions{
		ClientConfig: clientcmd.NewDefaultClientConfig(*config, nil), Namespace: system, SkipCRD: true, Log: log,
	}
	for _, e := range edit {
		e(&options)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx, options) }()
	f.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			f.Errorf("operator: %v", err)
		}
	})
	return said
}

// lockedWeb returns an API server with an operator and the release web, which is locked.
func lockedWeb(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.start()
	f.deployed("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	return f
}

// messages are the messages that an operator has logged. It is safe for concurrent use.
type messages struct {
	testing.TB
	mu     sync.Mutex
	logged []string
	wanted map[string]chan struct{} // by a part of a message; closed once it is logged
}

// Levels is part of logrus.Hook.
func (m *messages) Levels() []logrus.Level { return logrus.AllLevels }

// Fire is part of logrus.Hook.
func (m *messages) Fire(e *logrus.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logged = append(m.logged, e.Message)
	for part, seen := range m.wanted {
		if strings.Contains(e.Message, part) {
			close(seen)
			delete(m.wanted, part)
		}
	}
	return nil
}

// seen returns a channel that is closed once a message with that part was logged.
func (m *messages) seen(part string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(chan struct{})
	if slices.ContainsFunc(m.logged, func(s string) bool { return strings.Contains(s, part) }) {
		close(seen)
		return seen
	}
	if m.wanted == nil {
		m.wanted = map[string]chan struct{}{}
	}
	if known := m.wanted[part]; known != nil {
		return known
	}
	m.wanted[part] = seen
	return seen
}

// await waits until a message with that part is logged.
func (m *messages) await(part string) {
	m.Helper()
	select {
	case <-m.seen(part):
	case <-time.After(fakeapi.Patience):
		m.Fatalf("nothing was logged with %q", part)
	}
}

// lock creates or replaces the HelmRelease NAME for release apps/NAME.
func (f *fixture) lock(name string, edit ...func(*v1alpha1.HelmRelease)) {
	f.Helper()
	hr := &v1alpha1.HelmRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "helm.cattle.io/v1alpha1", Kind: "HelmRelease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name},
		Spec:       v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseReference{Namespace: apps, Name: name}},
	}
	for _, e := range edit {
		e(hr)
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	check.NoError(f, err)
	delete(o, "status")
	if old := f.Get(hlr + name); old != nil {
		o["status"] = old.Object["status"]
	}
	f.Put(o)
}

const hlr = "/apis/helm.cattle.io/v1alpha1/namespaces/" + system + "/helmreleases/"

const configMaps = "/api/v1/namespaces/" + apps + "/configmaps/"

// awaitCondition waits until a HelmRelease has a condition with a reason, and returns the HelmRelease.
func (f *fixture) awaitCondition(name, condition, reason string) *v1alpha1.HelmRelease {
	f.Helper()
	hr := &v1alpha1.HelmRelease{}
	f.Await(name+" has "+condition+" with "+reason, hlr+name, func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		hr = &v1alpha1.HelmRelease{}
		check.NoError(f, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, hr))
		c := meta.FindStatusCondition(hr.Status.Conditions, condition)
		return c != nil && c.Reason == reason
	})
	return hr
}

// awaitData waits until ConfigMap NAME has the value of key a; "-" waits until it does not exist.
func (f *fixture) awaitData(name, want string) {
	f.Helper()
	f.Await(name+" has "+want, configMaps+name, func(o *unstructured.Unstructured) bool {
		if o == nil {
			return want == "-"
		}
		got, _, err := unstructured.NestedString(o.Object, "data", "a")
		return err == nil && got == want && o.GetDeletionTimestamp() == nil
	})
}

// edit changes key a of ConfigMap NAME, as kubectl would.
func (f *fixture) edit(name, value string) {
	f.Helper()
	o := f.Get(configMaps + name)
	if o == nil {
		f.Fatalf("%s does not exist", name)
	}
	check.NoError(f, unstructured.SetNestedField(o.Object, value, "data", "a"))
	f.Put(o.Object)
}

// configMap is the manifest of a ConfigMap with one key, a.
func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: " + value + "}\n"
}

// deployed installs release NAME with one ConfigMap of its name, a: "1", and locks it.
func (f *fixture) deployed(name string, edit ...func(*v1alpha1.HelmRelease)) {
	f.Helper()
	f.Deploy(name, configMap(name, `"1"`))
	f.Release(name, 1, helmrelease.StatusDeployed, configMap(name, `"1"`))
	f.lock(name, edit...)
}

func schemaOf(resource string) schema.GroupResource { return schema.GroupResource{Resource: resource} }
