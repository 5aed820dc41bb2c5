package kit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// Common resources.
var (
	HelmReleases        = schema.GroupVersionResource{Group: "helm.cattle.io", Version: "v1alpha1", Resource: "helmreleases"}
	HelmReleasePolicies = v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName)
	ConfigMaps          = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Secrets             = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Services            = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	Deployments         = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// patience is the default timeout of Eventually. It is long enough for a busy machine; no measurement depends on it.
const patience = 60 * time.Second

// Env is one test's part of a control plane: a namespace for HelmReleases, a namespace for releases, and clients with
// a direct connection to the API server.
type Env struct {
	testing.TB
	Ctx     context.Context
	Cluster *cluster.Cluster
	Dynamic dynamic.Interface
	Kube    kubernetes.Interface
	// Operator is the namespace of the HelmReleases and the controller's name; Apps is where releases go.
	Operator, Apps string
	// Patience is the timeout of Eventually for objects that wait for much other work; zero is the default.
	Patience time.Duration
}

// New returns an environment of its own on a control plane, with the CustomResourceDefinition installed. Without one
// the test is skipped.
func New(t testing.TB, c *cluster.Cluster) *Env {
	t.Helper()
	if c == nil {
		t.Skip("needs a control plane")
	}
	config := c.RESTConfig()
	e := &Env{TB: t, Ctx: t.Context(), Cluster: c}
	var err error
	e.Dynamic, err = dynamic.NewForConfig(config)
	check.NoError(t, err)
	e.Kube, err = kubernetes.NewForConfig(config)
	check.NoError(t, err)
	check.NoError(t, crd.Create(e.Ctx, config))
	suffix := rand.String(5)
	e.Operator, e.Apps = e.Namespace("locker-"+suffix), e.Namespace("apps-"+suffix)
	return e
}

// Namespace creates a namespace and returns its name.
func (e *Env) Namespace(name string) string {
	e.Helper()
	_, err := e.Kube.CoreV1().Namespaces().Create(e.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	check.NoError(e, err)
	return name
}

// Helm runs a Helm command in the Apps namespace and fails the test if it fails. It returns the output.
func (e *Env) Helm(h cluster.Helm, args ...string) string {
	e.Helper()
	out, err := h.Run(e.Ctx, append(args, "--namespace", e.Apps)...)
	check.NoError(e, err)
	return out
}

// Helms returns the Helm versions of a test by their names. Without a control plane it returns one entry, so that the
// test appears as skipped.
func Helms(c *cluster.Cluster) map[string]cluster.Helm {
	if c == nil {
		return map[string]cluster.Helm{"no control plane": {}}
	}
	return map[string]cluster.Helm{"helm 3": c.Helm3(), "helm 4": c.Helm4()}
}

// Chart writes a chart of one template and returns its path.
func (e *Env) Chart(name, template string) string {
	e.Helper()
	path, err := cluster.Chart(e.TempDir(), name, "0.1.0", map[string]string{"all.yaml": template}, "")
	check.NoError(e, err)
	return path
}

// CreateHelmRelease creates a HelmRelease for the release of that name in Apps, and does not wait.
func (e *Env) CreateHelmRelease(name string, change ...func(*v1alpha1.HelmRelease)) {
	e.Helper()
	hr := &v1alpha1.HelmRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Operator, Name: name},
		Spec:       v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseReference{Namespace: e.Apps, Name: name}},
	}
	for _, f := range change {
		f(hr)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	check.NoError(e, err)
	unstructured.RemoveNestedField(content, "status")
	obj := &unstructured.Unstructured{Object: content}
	_, err = e.Dynamic.Resource(HelmReleases).Namespace(e.Operator).Create(e.Ctx, obj, metav1.CreateOptions{})
	check.NoError(e, err)
}

// Installed installs a chart of one template as a release of that name in Apps by Helm, and locks it. It returns the
// chart.
func (e *Env) Installed(
	h cluster.Helm, name, template string, change ...func(*v1alpha1.HelmRelease),
) (chart string) {
	e.Helper()
	chart = e.Chart(name, template)
	e.Helm(h, "install", name, chart)
	e.Lock(name, change...)
	return chart
}

// Forged forges the record of a release in Apps, and locks it.
func (e *Env) Forged(name, manifest string, change ...func(*v1alpha1.HelmRelease)) {
	e.Helper()
	e.Forge(ForgedRecord{Name: name, Manifest: manifest})
	e.Lock(name, change...)
}

// Lock creates a HelmRelease for the release of that name in Apps and waits until it is Ready.
func (e *Env) Lock(name string, change ...func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
	e.Helper()
	e.CreateHelmRelease(name, change...)
	return e.WaitReady(name, 0)
}

// HelmRelease returns a HelmRelease as it is now.
func (e *Env) HelmRelease(name string) *v1alpha1.HelmRelease {
	e.Helper()
	u, err := e.Dynamic.Resource(HelmReleases).Namespace(e.Operator).Get(e.Ctx, name, metav1.GetOptions{})
	check.NoError(e, err)
	hr := &v1alpha1.HelmRelease{}
	check.NoError(e, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hr))
	return hr
}

// WaitReady waits until a HelmRelease is Ready and, unless revision is 0, has locked that revision.
func (e *Env) WaitReady(name string, revision int) *v1alpha1.HelmRelease {
	e.Helper()
	var hr *v1alpha1.HelmRelease
	e.Eventually("HelmRelease "+name+" is Ready", func() error {
		hr = e.HelmRelease(name)
		if !meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionReady) ||
			(revision != 0 && hr.Status.Revision != revision) {
			return fmt.Errorf("status is %s", describe(hr))
		}
		return nil
	})
	return hr
}

// WaitReason waits until a condition of a HelmRelease has a reason, and returns the condition.
func (e *Env) WaitReason(name, condition, reason string) metav1.Condition {
	e.Helper()
	return e.waitCondition(name, condition, reason, nil)
}

// waitCondition is WaitReason for a condition with all of the parts in its message.
func (e *Env) waitCondition(name, condition, reason string, parts []string) (found metav1.Condition) {
	e.Helper()
	e.Eventually(fmt.Sprintf("%s of HelmRelease %s is %s with %q", condition, name, reason, parts), func() error {
		hr := e.HelmRelease(name)
		c := meta.FindStatusCondition(hr.Status.Conditions, condition)
		if c == nil || c.Reason != reason ||
			slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(c.Message, part) }) {
			return fmt.Errorf("status is %s", describe(hr))
		}
		found = *c
		return nil
	})
	return found
}

func describe(hr *v1alpha1.HelmRelease) string {
	var parts []string
	for _, c := range hr.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return fmt.Sprintf("state %s, revision %d, %s", hr.Status.State, hr.Status.Revision, strings.Join(parts, ", "))
}

// Get returns an object in Apps; nil when there is none.
func (e *Env) Get(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	e.Helper()
	u, err := e.Dynamic.Resource(gvr).Namespace(e.Apps).Get(e.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return u
}

// Eventually retries until a condition holds, and fails the test with the last error after the timeout. The longer it
// has waited the less often it asks: a question costs the API server, etcd and the test milliseconds of a processor.
func (e *Env) Eventually(what string, holds func() error) {
	e.Helper()
	deadline := time.NewTimer(cmp.Or(e.Patience, patience))
	defer deadline.Stop()
	begun := time.Now()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			e.Fatalf("waited in vain until %s: %v", what, err)
		case <-time.After(min(max(10*time.Millisecond, time.Since(begun)/10), 50*time.Millisecond)):
		}
	}
}

// Until polls until a condition holds; after the timeout it reports the last value of saw.
func (e *Env) Until(what string, look func() (saw any, holds bool)) {
	e.Helper()
	e.Eventually(what, func() error {
		saw, holds := look()
		if holds {
			return nil
		}
		return fmt.Errorf("saw %v", saw)
	})
}

// NextSecond waits for the second after the last creation or change of the objects. Ages are compared by whole seconds
// of the API server's clock.
func (e *Env) NextSecond(objects ...*unstructured.Unstructured) {
	e.Helper()
	var last time.Time
	for _, u := range objects {
		if created := u.GetCreationTimestamp().Time; created.After(last) {
			last = created
		}
		for _, entry := range u.GetManagedFields() {
			if entry.Time != nil && entry.Time.After(last) {
				last = entry.Time.Time
			}
		}
	}
	e.Until("the next second has begun", func() (any, bool) { return last, time.Now().Unix() > last.Unix() })
}
