package integration

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	clientv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const (
	definitionName = "helmreleases.helm.cattle.io"
	// firstDefinition is asked about first.
	firstDefinition = "helmreleasepolicies.helm.cattle.io"
)

// installation is an API server without the definitions; every test installs them again.
type installation struct {
	cluster *cluster.Cluster
	proxy   *cluster.Proxy
	client  clientv1.CustomResourceDefinitionInterface
}

func TestInstallingTheDefinitions(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	proxy, err := c.StartProxy()
	check.NoError(t, err)
	in := &installation{
		c, proxy, clientset.NewForConfigOrDie(c.RESTConfig()).ApiextensionsV1().CustomResourceDefinitions(),
	}
	tests := []struct {
		name string
		test func(*testing.T, *installation)
	}{
		{"the second time nothing is written", installsOnce},
		{"the definition of an older version is brought up to date, with its objects", upgrades},
		{"what a newer version added stays", keepsWhatIsNewer},
		{"a missing permission is named, and not needed when all is there", namesMissingPermissions},
		{"a clash of names is explained", explainsClashes},
		{"a definition that is being deleted is created again when it is gone", outlivesDeletion},
		{"a connection breaks", outlivesBrokenConnections},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in.remove(t, definitionName)
			test.test(t, in)
		})
	}
}

// eventually polls until a condition holds, and fails the test on an error and after 30 seconds.
func eventually(t *testing.T, condition func(context.Context) (bool, error)) {
	t.Helper()
	check.NoError(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, condition))
}

// ignoreNotFound returns nil for a "not found" of the API server, and any other error as it is.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remove deletes a definition, if it exists, and waits until it is deleted.
func (in *installation) remove(t *testing.T, name string) {
	t.Helper()
	if err := in.client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) (bool, error) {
		_, err := in.client.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

// create installs the definitions through the proxy, and returns the writes.
func (in *installation) create(t *testing.T) []string {
	t.Helper()
	in.proxy.Reset()
	check.NoError(t, crd.Create(t.Context(), in.proxy.RESTConfig()))
	var writes []string
	for _, request := range in.proxy.Writes() {
		writes = append(writes, request.String())
	}
	return writes
}

// stored returns the definition as the API server has it.
func (in *installation) stored(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definition, err := in.client.Get(t.Context(), definitionName, metav1.GetOptions{})
	check.NoError(t, err)
	return definition
}

func installsOnce(t *testing.T, in *installation) {
	definitions, err := crd.List()
	check.NoError(t, err)
	writes := in.create(t)
	check.That(t, len(writes) == len(definitions), "want a write for each of the %d definitions at first, got %v",
		len(definitions), writes)
	// The kind is served by now.
	if _, err := dynamic.NewForConfigOrDie(in.cluster.RESTConfig()).Resource(kit.HelmReleases).List(t.Context(),
		metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	writes = in.create(t)
	check.That(t, len(writes) == 0, "want no write afterwards, got %v", writes)
}

// definitionOf returns a definition of the operator's group, with any content.
func definitionOf(
	names apiextensionsv1.CustomResourceDefinitionNames, version string,
) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: names.Plural + "." + kit.HelmReleases.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kit.HelmReleases.Group, Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}

func upgrades(t *testing.T, in *installation) {
	old := definitionOf(apiextensionsv1.CustomResourceDefinitionNames{Kind: "HelmRelease",
		Plural: kit.HelmReleases.Resource}, kit.HelmReleases.Version)
	_, err := in.client.Create(t.Context(), old, metav1.CreateOptions{})
	check.NoError(t, err)
	// An object from an older operator: with a finalizer and fields unknown to this version.
	objects := dynamic.NewForConfigOrDie(in.cluster.RESTConfig()).Resource(kit.HelmReleases).
		Namespace(metav1.NamespaceDefault)
	object := &unstructured.Unstructured{}
	check.NoError(t, object.UnmarshalJSON([]byte(`{"apiVersion":"helm.cattle.io/v1alpha1","kind":"HelmRelease",
		"metadata":{"name":"old","finalizers":["wrangler.cattle.io/on-helm-release-remove"]},
		"spec":{"release":{"name":"demo","namespace":"demo"}},
		"status":{"state":"Deployed","version":3,"description":null,"conditions":null,"unknown":1}}`)))
	eventually(t, func(ctx context.Context) (bool, error) {
		_, err := objects.Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil // the API server still has the deleted definition
		}
		return err == nil, ignoreNotFound(err) // not found until the kind is served
	})

	writes := in.create(t)
	check.That(t, len(writes) == 1, "want one write, got %v", writes)
	// The new schema is served a moment later: then an old object gets the default, and can be written.
	eventually(t, func(ctx context.Context) (bool, error) {
		stored, err := objects.Get(ctx, "old", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		mode, _, err := unstructured.NestedString(stored.Object, "spec", "mode")
		return mode == string(v1alpha1.ModeEnforce), err
	})
	changed, err := objects.Patch(t.Context(), "old", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null},"spec":{"suspend":true}}`), metav1.PatchOptions{})
	check.NoError(t, err)
	got, _, err := unstructured.NestedInt64(changed.Object, "status", "version")
	check.That(t, err == nil && got == 3, "the status of the old object is now %v", changed.Object["status"])
	version := in.stored(t).Spec.Versions[0]
	check.That(t,
		version.Subresources != nil && len(version.AdditionalPrinterColumns) > 0 &&
			version.Schema.OpenAPIV3Schema.XPreserveUnknownFields == nil, "not brought up to date: %+v", version)
	writes = in.create(t)
	check.That(t, len(writes) == 0, "want no write afterwards, got %v", writes)
}

func keepsWhatIsNewer(t *testing.T, in *installation) {
	in.create(t)
	definition := in.stored(t)
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["newer"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	next := *definition.Spec.Versions[0].DeepCopy()
	next.Name, next.Storage = "v1", false
	definition.Spec.Versions = append(definition.Spec.Versions, next)
	_, err := in.client.Update(t.Context(), definition, metav1.UpdateOptions{})
	check.NoError(t, err)
	writes := in.create(t)
	check.That(t, len(writes) == 0, "want no write, got %v", writes)
}

func namesMissingPermissions(t *testing.T, in *installation) {
	nobody, err := in.cluster.UserConfig("nobody")
	check.NoError(t, err)
	err = crd.Create(t.Context(), nobody)
	check.That(t,
		apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not permitted to get it (grant the verbs") &&
			strings.Contains(err.Error(), firstDefinition), "got %v", err)

	forbidListing := in.proxy.On(func(r *http.Request) bool {
		return r.Method == http.MethodGet && path.Base(r.URL.Path) == "customresourcedefinitions"
	}, cluster.Fail(http.StatusForbidden, "no list, no watch"))
	err = crd.Create(t.Context(), in.proxy.RESTConfig())
	forbidListing()
	check.That(t, apierrors.IsForbidden(err) && strings.Contains(err.Error(), "not permitted to watch it (grant the"),
		"without the right to watch: %v", err)

	in.create(t)
	// A user with read access only can use definitions that were installed before.
	forbid := cluster.Fail(http.StatusForbidden, "only get is allowed")
	defer in.proxy.On(cluster.IsWrite, forbid)()
	defer in.proxy.On(cluster.IsWatch, forbid)()
	check.Report(t, crd.Create(t.Context(), in.proxy.RESTConfig()))
}

func explainsClashes(t *testing.T, in *installation) {
	clash := definitionOf(apiextensionsv1.CustomResourceDefinitionNames{Kind: "HelmRelease", ListKind: "HalyardList",
		Plural: "halyards", Singular: "halyard"}, "v1")
	_, err := in.client.Create(t.Context(), clash, metav1.CreateOptions{})
	check.NoError(t, err)
	eventually(t, func(ctx context.Context) (bool, error) {
		stored, err := in.client.Get(ctx, clash.Name, metav1.GetOptions{})
		return err == nil && stored.Status.AcceptedNames.Kind != "", err
	})

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err = crd.Create(ctx, in.cluster.RESTConfig())
	check.That(t, err != nil && strings.Contains(err.Error(), `"HelmRelease" is already in use`), "got %v", err)
	in.remove(t, clash.Name)
	in.create(t)
}

func outlivesDeletion(t *testing.T, in *installation) {
	in.create(t)
	before := in.stored(t)
	objects := dynamic.NewForConfigOrDie(in.cluster.RESTConfig()).Resource(kit.HelmReleases).
		Namespace(metav1.NamespaceDefault)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"release": map[string]any{"name": "demo", "namespace": "demo"}}}}
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.Kind))
	object.SetName("finalized")
	object.SetFinalizers([]string{"example.com/hold"})
	_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
	check.NoError(t, err)
	check.NoError(t, in.client.Delete(t.Context(), definitionName, metav1.DeleteOptions{}))

	done := make(chan error, 1)
	go func() { done <- crd.Create(t.Context(), in.proxy.RESTConfig()) }()
	eventually(t, func(context.Context) (bool, error) {
		return in.proxy.Watches(cluster.ForResource("customresourcedefinitions")) > 0, nil
	})
	_, err = objects.Patch(t.Context(), "finalized", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	check.NoError(t, err)
	check.NoError(t, <-done)
	after := in.stored(t)
	check.That(t, after.UID != before.UID && after.DeletionTimestamp == nil,
		"still the definition that is being deleted: %+v", after.ObjectMeta)
}

// The creation is tried again, whether or not it was carried out.
func outlivesBrokenConnections(t *testing.T, in *installation) {
	for name, action := range map[string]cluster.Action{"before the creation": cluster.Drop(),
		"after it": cluster.DropAnswer()} {
		in.remove(t, definitionName)
		var broken atomic.Int32
		first := func(r *http.Request) bool { return r.Method == http.MethodPost && broken.Add(1) <= 2 }
		mend := in.proxy.On(first, action)
		in.create(t)
		mend()
		check.That(t, broken.Load() != 0, "%s: no connection was broken", name)
		in.stored(t)
	}
}
