package tamper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// injecting is a policy that injects a container into each created workload, and injects it again.
const injecting = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: tamper-injects}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [deployments, statefulsets, daemonsets]
  matchConditions:
  - name: once
    expression: >-
      request.operation == "CREATE" || oldObject.spec.template.spec.containers.exists(c, c.name == "tamper-injected")
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        object.spec.template.spec.containers.exists(c, c.name == "tamper-injected") ? [] :
        [JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value:
        Object.spec.template.spec.containers.item{name: "tamper-injected", image: "mesh.example/proxy:1",
        args: ["--one"]}}]
`

const injectingBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: tamper-injects}
spec: {policyName: tamper-injects}
`

// probe is a workload that only dry runs create.
const probe = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: tamper-probe}
spec:
  selector: {matchLabels: {app: probe}}
  template: {metadata: {labels: {app: probe}}, spec: {containers: [{name: c, image: "example.com/c:1"}]}}
`

// restoresInjected has a policy inject a container into workloads, by deleting them, and changes fields of that
// container. The scope is Strict. The short form takes one workload of each chart.
func (w *fixture) restoresInjected(t *testing.T, each forEach) {
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1"}
	for resource, text := range map[string]string{
		"mutatingadmissionpolicies": injecting, "mutatingadmissionpolicybindings": injectingBinding,
	} {
		policies.Resource = resource
		_, err := w.env.Dynamic.Resource(policies).Create(t.Context(), parsed(t, text), metav1.CreateOptions{})
		check.NoError(t, err)
		gone := policies
		t.Cleanup(func() {
			check.Report(t,
				w.env.Dynamic.Resource(gone).Delete(context.Background(), "tamper-injects", metav1.DeleteOptions{}))
		})
	}
	deployments := w.env.Dynamic.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1",
		Resource: "deployments"}).Namespace("default")
	w.env.Until("the policy injects containers", func() (any, bool) {
		u, err := deployments.Create(t.Context(), parsed(t, probe),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err, err == nil && injectedAt(u) >= 0
	})
	each("RestoresInjected", func(t *testing.T, ch *chart, r *result) {
		chosen := slices.DeleteFunc(slices.Clone(ch.objects), func(o *object) bool {
			return !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, o.declared.GetKind())
		})
		if !*full {
			chosen = chosen[:min(1, len(chosen))]
		}
		w.onEach(t, ch, r, func(ctx context.Context, x *tampering) error {
			if !slices.Contains(chosen, x.object) {
				return nil
			}
			return x.insideInjected(ctx)
		})
		w.wantNoStrayWrites(t)
	})
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	check.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// injectedAt returns the index of the injected container; -1 for none.
func injectedAt(u *unstructured.Unstructured) int {
	return slices.IndexFunc(elements(u.Object, "spec", "template", "spec", "containers"),
		func(c map[string]any) bool { return c["name"] == "tamper-injected" })
}

// insideInjected deletes a workload, and changes fields of the container that is injected when it is re-created.
func (x *tampering) insideInjected(ctx context.Context) error {
	if err := x.resource.Delete(ctx, x.name(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	uid := x.before.GetUID()
	since := x.before.GetResourceVersion()
	_, remains, err := x.watch.until(since, patience, func(u *unstructured.Unstructured) string {
		if u.GetUID() == uid || injectedAt(u) < 0 {
			return ": it is not re-created with an injected container"
		}
		x.before = u
		return ""
	})
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if remains != "" {
		return fmt.Errorf("delete%s", remains)
	}
	container := fmt.Sprintf("/spec/template/spec/containers/%d", injectedAt(x.before))
	for path, value := range map[string]any{
		"/image": "example.com/evil", "/args/-": "--evil", "/tty": true,
		"/env": []any{map[string]any{"name": "EVIL", "value": "1"}},
	} {
		m := mutation{class: inside, what: "inside of an injected container " + strings.TrimSuffix(path, "/-"),
			requests: []request{jsonPatch(operation{Op: "add", Path: container + path, Value: value})}}
		if err := x.edit(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
