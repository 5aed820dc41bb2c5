package judge

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestPlan(t *testing.T) {
	const text = `
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: out, annotations: {helmreleases.cattle.io/lock: disabled}}
---
apiVersion: v1
kind: Secret
metadata: {name: sh.helm.release.v1.app.v1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: partly}
data: {a: one}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks: [{name: a.example.com, clientConfig: {caBundle: Cg==}}]
---
apiVersion: example.com/v1
kind: Unknown
metadata: {name: unknown}
`
	scope := func(gvk schema.GroupVersionKind) (bool, error) {
		if gvk.Group == "example.com" {
			return false, &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
		}
		return gvk.Kind != "ValidatingWebhookConfiguration", nil
	}
	declared, err := Read(text, manifest.Release{Namespace: "apps", Name: "app"}, scope)
	check.NoError(t, err)
	compiled, err := rules.Compile([]v1alpha1.IgnoreRule{
		{Paths: []string{""}, Target: &v1alpha1.IgnoreTarget{Name: "ignored"}},
		{Paths: []string{"/data/a", "/none/*/b"}, Target: &v1alpha1.IgnoreTarget{Name: "partly|plain"}},
	})
	check.NoError(t, err)
	plan := declared.Plan(Own{}, compiled)
	var compared, exempt, exceptions []string
	for _, o := range plan.Objects {
		compared = append(compared, o.ID.Name)
		check.Equal(t, o.Rules != nil, o.ID.Name == "partly" || o.ID.Name == "plain", "%s: rules %v, range %v", o.ID, o.Rules,
			o.Replicas)
	}
	for _, e := range plan.Exempt {
		exempt = append(exempt, e.Object.ID.Name)
	}
	for _, e := range plan.Exceptions {
		exceptions = append(exceptions, string(e.Reason)+" "+e.Object.Name)
	}
	expect(t, compared, "plain", "partly", "web", "web", "hook")
	expect(t, exempt, "out", "sh.helm.release.v1.app.v1", "ignored")
	expect(t, exceptions, "OptedOut out", "Reserved sh.helm.release.v1.app.v1", "Ignored ignored", "Ignored partly",
		"Autoscaled web", "CABundleInjected hook")
	for why, ignored := range map[string]v1alpha1.IgnoreRule{
		"its range":                  {Paths: []string{"/spec/maxReplicas"}},
		"its spec":                   {Paths: []string{"/spec"}},
		"it":                         {Paths: []string{""}},
		"what it scales":             {Paths: []string{"/spec/scaleTargetRef/name"}},
		"whatever a manager manages": {Managers: []string{"vpa"}},
		"a label of it":              {Paths: []string{"/metadata/labels/a"}},
	} {
		ignored.Target = &v1alpha1.IgnoreTarget{Kind: "HorizontalPodAutoscaler"}
		compiled, err := rules.Compile([]v1alpha1.IgnoreRule{ignored})
		check.NoError(t, err)
		for _, o := range declared.Plan(Own{}, compiled).Objects {
			if protected := why == "a label of it"; o.ID.Kind == "Deployment" && (o.Replicas != nil) != protected {
				t.Errorf("%s is ignored: the manifest's range is %v", why, o.Replicas)
			}
		}
	}
	check.That(t, len(declared.Unknown) == 1 && declared.Unknown[0].ID.Name == "unknown", "unknown: %v",
		declared.Unknown)
	_, err = Read("a: [", manifest.Release{}, nil)
	check.That(t, err != nil, "a manifest that does not parse is read")
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("got %v, want %v", got, want)
	}
}
