package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// CreatePolicy creates a HelmReleasePolicy with a spec, as YAML. It waits until the policy has made the HelmRelease of
// a release in Apps, and returns the name of that.
func (e *Env) CreatePolicy(name, release, spec string) (made string) {
	e.Helper()
	content := map[string]any{}
	check.NoError(e, yaml.Unmarshal([]byte(spec), &content))
	policy := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	policy.SetName(name)
	policy.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.PolicyKind))
	_, err := e.In(HelmReleasePolicies, e.Operator).Create(e.Ctx, policy, metav1.CreateOptions{})
	check.NoError(e, err)
	made = e.Apps + "." + release
	e.Until("the policy has made HelmRelease "+made, func() (any, bool) {
		_, err := e.In(HelmReleases, e.Operator).Get(e.Ctx, made, metav1.GetOptions{})
		return err, err == nil
	})
	return made
}
