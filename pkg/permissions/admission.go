package permissions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// admission adds the rights for writing an object with decisions about requests of others. It also notes the power of
// its writer: through the operator, the author of the release has that power.
func (b *builder) admission(o *Object) {
	switch o.GVK.Kind {
	case "ValidatingWebhookConfiguration":
		b.note("%s: to restore it the operator may have every request to the API server sent to a server of its "+
			"choice, Secrets and tokens included, "+
			"and refused there", o.ID)
	case "MutatingWebhookConfiguration":
		b.note("%s: to restore it the operator may have every request to the API server sent to a server of its "+
			"choice, Secrets and tokens included, "+
			"and changed or refused there", o.ID)
	case "MutatingAdmissionPolicy":
		b.note("%s: to restore it the operator may change every object that any user writes", o.ID)
		b.parameters(o)
	case "ValidatingAdmissionPolicy":
		b.parameters(o)
	}
}

// parameters adds the rights for writing a policy whose parameters are objects: its writer has to be allowed to read
// them.
func (b *builder) parameters(o *Object) {
	kind, found, err := unstructured.NestedStringMap(o.Content, "spec", "paramKind")
	if err != nil {
		b.note("%s: its parameters cannot be read, so it is not covered: %v", o.ID, err)
		return
	}
	if !found {
		return
	}
	gvk := schema.FromAPIVersionAndKind(kind["apiVersion"], kind["kind"])
	resource, err := b.options.Resource(gvk)
	if err != nil {
		b.note("%s: the API server does not serve its parameters (%s), so it is not covered", o.ID, gvk.Kind)
		return
	}
	b.add(Rule{PolicyRule: resources(gvk.Group, resource, "get")})
	if gvk.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		b.note("%s: its parameters are Secrets, so to restore it the operator may read every Secret of the cluster, "+
			"and the user who writes the policy "+
			"finds out their values by the requests that it refuses", o.ID)
	}
}

// conversion notes the power of the writer of a definition with a conversion webhook.
func (b *builder) conversion(o *Object) {
	strategy, _, err := unstructured.NestedString(o.Content, "spec", "conversion", "strategy")
	if err == nil && strategy == "Webhook" {
		b.note(
			"%s: to restore it the operator may have every object of this kind sent to a server of its choice, and "+
				"changed there", o.ID,
		)
	}
}
