package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// notAsked are the subresources outside of the guard, each with the reason. All others that the API server serves are
// tried.
var notAsked = map[string]string{
	"pods/eviction":            "a drain of a node must not hang; the pod is re-created",
	"pods/ephemeralcontainers": "it adds a container that nothing can take out again, so that every scope leaves it",
	"pods/binding":             "the scheduler's; it sets the node, and its annotations are reverted",
	"pods/attach":              "changes nothing that is stored",
	"pods/exec":                "changes nothing that is stored",
	"pods/portforward":         "changes nothing that is stored",
	"pods/proxy":               "changes nothing that is stored",
	"services/proxy":           "changes nothing that is stored",
	"nodes/proxy":              "changes nothing that is stored",
	"serviceaccounts/token":    "changes nothing that is stored",
	"apiservices.apiregistration.k8s.io/status": "the API server removes the stub, because it does not serve its group",
	"helmreleases.helm.cattle.io/status":        "no release has it: it is the operator's (Reserved)",
	"helmreleasepolicies.helm.cattle.io/status": "no release has it: it is the operator's (Reserved)",
	"releaselocks.teams.helm.cattle.io/status":  "no release has it: it is the process for teams' (Reserved)",
	"validatingadmissionpolicies.admissionregistration.k8s.io/status": "the API server asks no webhook about policies, " +
		"lest it lock itself out",
}

// isLeft reports whether every scope leaves a change, as reference.md and the table of pkg/drift have it.
func isLeft(sub subresource, what string) bool {
	return sub.name == "status" && strings.HasPrefix(what, "an addition") // its manager is one of the status
}

// subresource is one that the API server serves.
type subresource struct {
	of         schema.GroupVersionResource
	name, kind string
}

func (s subresource) String() string { return s.of.GroupResource().String() + "/" + s.name }

// sweep is a release with an object of each kind that has subresources.
type sweep struct {
	*fixture
	client   dynamic.Interface
	warnings *warnings
	// declared are the objects, and kinds their kinds.
	declared map[schema.GroupResource]*unstructured.Unstructured
	kinds    map[schema.GroupVersionResource]metav1.APIResource
	served   []subresource
}

// No subresource is a way around the guard: for each that the API server serves, in each version, each request that
// changes something of a locked object but its status is refused with Deny, and warned about and reverted with Warn.
func TestHostile_NoSubresourceIsAWayAround(t *testing.T) {
	t.Parallel()
	s := &sweep{fixture: newFixtureOn(t, cluster.ForTest(t, cluster.Options{ExtraAPIServerArgs: []string{
		"--runtime-config=api/all=true", "--feature-gates=" + kit.FeaturesOfStubs}})), warnings: &warnings{}}
	config := s.Cluster.RESTConfig()
	config.WarningHandler = s.warnings
	var err error
	s.client, err = dynamic.NewForConfig(config)
	check.NoError(t, err)
	s.discover()
	s.install()
	found := map[string]int{}
	for _, sub := range s.served {
		n := s.isRefused(sub)
		s.Logf("%s %s: %d requests would change something", sub, sub.of.Version, n)
		found[sub.name] += n
	}
	for _, name := range []string{"status", "scale", "resize", "finalize", "approval"} {
		check.That(t, found[name] != 0, "no request for a %s would change anything, so the test shows nothing about it", name)
	}
	s.PatchHelmRelease("sweep", `{"spec":{"guard":"Warn"}}`)
	for _, sub := range s.served {
		s.isWarnedAbout(sub)
	}
}

// discover reads the subresources, and fails the test for each that is neither tried nor in notAsked.
func (s *sweep) discover() {
	client, err := discovery.NewDiscoveryClientForConfig(s.Cluster.RESTConfig())
	check.NoError(s, err)
	_, lists, err := client.ServerGroupsAndResources()
	check.NoError(s, err)
	s.kinds = map[schema.GroupVersionResource]metav1.APIResource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		check.NoError(s, err)
		for _, r := range list.APIResources {
			parent, name, isSub := strings.Cut(r.Name, "/")
			sub := subresource{gv.WithResource(parent), name, r.Kind}
			switch {
			case !isSub:
				s.kinds[gv.WithResource(r.Name)] = r
			case notAsked[sub.String()] != "" || slices.Equal(r.Verbs, []string{"get"}):
			case !slices.Contains(r.Verbs, "update"):
				s.Errorf("%s has the verbs %v: is it a way to change an object?", sub, r.Verbs)
			default:
				s.served = append(s.served, sub)
			}
		}
	}
}

// install installs and locks the release. Scope Strict protects additions, too.
func (s *sweep) install() {
	stubs, err := kit.Stubs(s.Ctx)
	check.NoError(s, err)
	s.declared = map[schema.GroupResource]*unstructured.Unstructured{}
	documents := []string{kit.ConfigMap("settings", "declared"),
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`} // for the Pod
	for _, stub := range stubs {
		of := stub.Resource.GroupResource()
		kind, served := s.kinds[stub.Resource]
		if !served || s.declared[of] != nil ||
			!slices.ContainsFunc(s.served, func(sub subresource) bool { return sub.of.GroupResource() == of }) {
			continue
		}
		u := &unstructured.Unstructured{Object: stub.Content}
		u.SetGroupVersionKind(stub.Resource.GroupVersion().WithKind(kind.Kind))
		if slices.ContainsFunc(s.served, func(sub subresource) bool {
			return sub.of.GroupResource() == of && sub.name == "scale"
		}) {
			check.NoError(s, unstructured.SetNestedField(u.Object, int64(1), "spec", "replicas"))
		}
		text, err := json.Marshal(u)
		check.NoError(s, err)
		documents = append(documents, string(text))
		s.declared[of] = u
	}
	file := filepath.Join(s.TempDir(), "manifest.yaml")
	check.NoError(s, os.WriteFile(file, []byte(strings.Join(documents, "\n---\n")), 0o600))
	chart, args := kit.ManifestChart(s, "sweep", "sweep", file)
	s.Helm(s.Cluster.Helm3(), append([]string{"install", "sweep", chart, "--disable-openapi-validation"}, args...)...)
	s.guard("sweep", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
	s.inForce(kit.ConfigMaps, "settings")
}

// resource returns the client of a subresource's object, and the object's name; empty for no object.
func (s *sweep) resource(sub subresource) (dynamic.ResourceInterface, string) {
	declared := s.declared[sub.of.GroupResource()]
	if declared == nil {
		s.Errorf("no release has an object with %s: add it here, or say in notAsked why it is harmless", sub)
		return nil, ""
	}
	if s.kinds[sub.of].Namespaced {
		return s.client.Resource(sub.of).Namespace(s.Apps), declared.GetName()
	}
	return s.client.Resource(sub.of), declared.GetName()
}

// unlike returns what a request must not change of an object: all but its status.
func unlike(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	delete(content, "status")
	metadata := maps.Clone(content["metadata"].(map[string]any))
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, field)
	}
	content["metadata"] = metadata
	return content
}

// isRefused tries a subresource, and returns how many requests would have changed something.
func (s *sweep) isRefused(sub subresource) (effective int) {
	object, name := s.resource(sub)
	if object == nil {
		return 0
	}
	before, err := object.Get(s.Ctx, name, metav1.GetOptions{})
	check.NoError(s, err)
	for what, body := range s.requests(sub, object, before) {
		if isLeft(sub, what) {
			continue
		}
		said, changes, err := s.send(sub, object, before, body, metav1.DryRunAll)
		if err != nil || !changes {
			continue // the API server itself refuses it, or leaves everything but the status as it is
		}
		effective++
		if !strings.Contains(said, "helm-locker: ") {
			s.Errorf("%s %s, %s: the guard is not asked, and something changes", sub, sub.of.Version, what)
			continue
		}
		_, _, err = s.send(sub, object, before, body)
		if err == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "helm-locker: ") {
			s.Errorf("%s %s, %s: got %v, want a refusal", sub, sub.of.Version, what, err)
		}
	}
	return effective
}

// isWarnedAbout sends one request that changes something, with Warn.
func (s *sweep) isWarnedAbout(sub subresource) {
	object, name := s.resource(sub)
	if object == nil {
		return
	}
	before, err := object.Get(s.Ctx, name, metav1.GetOptions{})
	check.NoError(s, err)
	for what, body := range s.requests(sub, object, before) {
		if isLeft(sub, what) {
			continue
		}
		if _, changes, err := s.send(sub, object, before, body, metav1.DryRunAll); err != nil || !changes {
			continue
		}
		s.Until(fmt.Sprintf("%s %s, %s: it is warned about", sub, sub.of.Version, what), func() (any, bool) {
			said, _, err := s.send(sub, object, before, body)
			return []any{err, said}, err == nil && strings.Contains(said, "helm-locker: ")
		})
		s.Until(fmt.Sprintf("%s %s, %s: it is reverted", sub, sub.of.Version, what), func() (any, bool) {
			now, err := object.Get(s.Ctx, name, metav1.GetOptions{})
			return now, err == nil && reflect.DeepEqual(unlike(now), unlike(before))
		})
		return
	}
}
