package kit

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const denial = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s-%[2]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [%[2]s]}]
  matchConditions: [{name: here, expression: "object.metadata.namespace == '%[1]s'"}]
  validations: [{expression: %[3]q, message: denied by the policy of the test}]
`

const denialBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s-%[2]s}
spec: {policyName: %[1]s-%[2]s, validationActions: [Deny]}
`

// Deny has the API server deny the objects of a core resource in Apps, unless a CEL expression holds, until allow is
// called. It returns when the API server denies a patch of an object, in a dry run.
func (e *Env) Deny(gvr schema.GroupVersionResource, expression, name, patch string) (allow func()) {
	e.Helper()
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicies"}
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	policy := e.Create(policies, "", fmt.Sprintf(denial, e.Apps, gvr.Resource, expression)).GetName()
	e.Create(bindings, "", fmt.Sprintf(denialBinding, e.Apps, gvr.Resource))
	e.Until("the policy is in force", func() (any, bool) {
		err := e.TryPatch(gvr, name, patch, metav1.DryRunAll)
		return err, err != nil && strings.Contains(err.Error(), "denied by the policy of the test")
	})
	return func() {
		e.Helper()
		e.DeleteIn(bindings, "", policy)
		e.DeleteIn(policies, "", policy)
	}
}
