package guard

import (
	"fmt"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// The names of the webhooks in the registration. Users see them in errors.
const (
	objectsWebhook      = "guard.helm-locker.cattle.io"
	subresourcesWebhook = "subresources.guard.helm-locker.cattle.io"
	recordsWebhook      = "records.guard.helm-locker.cattle.io"
)

// exemptUsers are users whose requests pass without the guard: parts of Kubernetes that finish deletions, and the API
// server itself.
var exemptUsers = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager", "system:apiserver",
}

// webhooks returns the webhooks of the registration, with the ways to those for records and for objects. It sets every
// field that the API server would default, so the stored form is equal. self is the operator's own user.
func webhooks(w Wanted, records, objects admissionregistrationv1.WebhookClientConfig, self string,
) []admissionregistrationv1.ValidatingWebhook {
	hook := admissionregistrationv1.ValidatingWebhook{
		Name: objectsWebhook, ClientConfig: objects,
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), MatchPolicy: ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: w.Namespaces,
		}}},
		// Helm sets the label on every object that it manages. A request that removes the label matches by the old
		// object.
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}},
		SideEffects: ptr.To(
			admissionregistrationv1.SideEffectClassNoneOnDryRun,
		), TimeoutSeconds: ptr.To[int32](timeoutSeconds),
		AdmissionReviewVersions: []string{"v1"},
	}
	if len(w.Namespaces) == 0 { // an empty list of values is not valid, and nothing of a namespace is guarded
		hook.NamespaceSelector.MatchExpressions[0] = metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName,
			Operator: metav1.LabelSelectorOpDoesNotExist}
	}
	hook.MatchConditions = append(conditions(self), admissionregistrationv1.MatchCondition{
		Name: "object-or-metadata", Expression: objectOrMetadata})
	var hooks []admissionregistrationv1.ValidatingWebhook
	for i, rules := range objectRules(w.Resources) {
		hook.Rules = rules
		if i > 0 {
			hook.Name = fmt.Sprintf("versions-%d.%s", i+1, objectsWebhook)
		}
		hooks = append(hooks, hook)
	}
	if len(w.Records) > 0 {
		hooks = append(hooks, recordsHook(hook, records, w.Records, self))
	}
	if rules := subresourceRules(w.Resources); len(rules) > 0 {
		hook.Name, hook.Rules, hook.MatchConditions = subresourcesWebhook, rules, conditions(self)
		hook.ObjectSelector = &metav1.LabelSelector{} // a Scale has no labels
		hooks = append(hooks, hook)
	}
	return hooks
}

// recordsPath is the path of the witness, below that of the guard.
const recordsPath = "/records"

// recordsHook returns the webhook for release records, with the way to it. base has the fields shared by all webhooks.
func recordsHook(base admissionregistrationv1.ValidatingWebhook, at admissionregistrationv1.WebhookClientConfig,
	resources []string, self string,
) admissionregistrationv1.ValidatingWebhook {
	base.Name, base.Rules = recordsWebhook, nil
	for _, resource := range resources {
		base.Rules = append(base.Rules, rule(Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1"},
			Namespaced: true}, resource, admissionregistrationv1.Create, admissionregistrationv1.Update,
			admissionregistrationv1.Delete))
	}
	base.NamespaceSelector, base.ObjectSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
	base.MatchConditions = []admissionregistrationv1.MatchCondition{
		{Name: "record", Expression: isRecord}, {Name: "changes", Expression: changesRecord},
	}
	if self != "" {
		base.MatchConditions = append(base.MatchConditions, notOfTheOperator(self))
	}
	base.ClientConfig = at
	if at.URL != nil {
		base.ClientConfig.URL = ptr.To(*at.URL + recordsPath)
	} else {
		service := *at.Service
		service.Path = ptr.To(*service.Path + recordsPath)
		base.ClientConfig.Service = &service
	}
	return base
}

// isRecord selects records of Helm, and no dry run. A ConfigMap has no type.
const isRecord = `!(has(request.dryRun) && request.dryRun == true) && [object, oldObject].exists(o, o != null &&
o.metadata.name.startsWith("sh.helm.release.v1.") &&
(request.resource.resource == "configmaps" || has(o.type) && o.type == "helm.sh/release.v1"))`

// changesRecord leaves out the updates of annotations and managed fields.
const changesRecord = `request.operation != "UPDATE" || has(object.data) != has(oldObject.data) ||
has(object.data) && object.data != oldObject.data ||
has(object.metadata.labels) != has(oldObject.metadata.labels) ||
has(object.metadata.labels) && object.metadata.labels != oldObject.metadata.labels`

func notOfTheOperator(self string) admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name: "not-of-the-operator", Expression: "request.userInfo.username != " + strconv.Quote(self),
	}
}

// conditions returns CEL expressions that exclude requests which the guard would allow anyway.
func conditions(self string) []admissionregistrationv1.MatchCondition {
	users := make([]string, len(exemptUsers))
	for i, user := range exemptUsers {
		users[i] = strconv.Quote(user)
	}
	conditions := []admissionregistrationv1.MatchCondition{{
		Name:       "not-of-kubernetes",
		Expression: fmt.Sprintf("!(request.userInfo.username in [%s])", strings.Join(users, ", ")),
	}}
	if self != "" {
		conditions = append(conditions, notOfTheOperator(self))
	}
	return conditions
}

// objectOrMetadata selects the requests for objects, and those that finalize a Namespace. Of the requests for their
// status it selects those that change metadata or finish a Job. A node that writes the status of a pod does not wait
// for the guard.
var objectOrMetadata = `!has(request.subResource) || request.subResource == "" || ` + metadataChanges() + ` ||
request.resource.resource == "namespaces" && request.subResource == "finalize" ||
request.resource.group == "batch" && request.resource.resource == "jobs" &&
has(object.status) && has(object.status.conditions) &&
object.status.conditions.exists(c, c.status == "True" &&
	c.type in ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"])`

func metadataChanges() string {
	var changes []string
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		after, before := "object.metadata."+name, "oldObject.metadata."+name
		changes = append(changes,
			fmt.Sprintf("has(%[1]s) != has(%[2]s) || has(%[1]s) && %[1]s != %[2]s", after, before))
	}
	return strings.Join(changes, " ||\n")
}

// objectRules select the objects, and the subresources whose requests carry the whole object: the strategies of many
// kinds keep the metadata of such a request. A rule for a subresource that a kind does not have matches nothing.
//
// Each list has one version of a resource. The API server asks a webhook about the version of the request if the
// webhook has a rule for it, and converts the object otherwise. With a rule for another version than the locked one,
// the guard would not be asked about the locked one.
func objectRules(resources []Resource) (lists [][]admissionregistrationv1.RuleWithOperations) {
	versions := map[schema.GroupResource]int{}
	for _, r := range resources {
		list := versions[r.GroupResource()]
		versions[r.GroupResource()] = list + 1
		if list == len(lists) {
			lists = append(lists, nil)
		}
		of := rule(r, r.Resource+"/status", admissionregistrationv1.Update)
		switch {
		case r.Group == "" && r.Resource == "namespaces":
			of.Resources = append(of.Resources, "namespaces/finalize")
		case r.Group == "certificates.k8s.io" && r.Resource == "certificatesigningrequests":
			of.Resources = append(of.Resources, "certificatesigningrequests/approval")
		}
		lists[list] = append(lists[list],
			rule(r, r.Resource, admissionregistrationv1.Update, admissionregistrationv1.Delete), of)
	}
	return lists
}

func subresourceRules(resources []Resource) (rules []admissionregistrationv1.RuleWithOperations) {
	for _, r := range resources {
		if r.Scale {
			rules = append(rules, rule(r, r.Resource+"/scale", admissionregistrationv1.Update))
		}
		if r.Group == "" && r.Resource == "pods" {
			rules = append(rules, rule(r, "pods/resize", admissionregistrationv1.Update))
		}
	}
	return rules
}

func rule(r Resource, resource string, operations ...admissionregistrationv1.OperationType,
) admissionregistrationv1.RuleWithOperations {
	scope := admissionregistrationv1.ClusterScope
	if r.Namespaced {
		scope = admissionregistrationv1.NamespacedScope
	}
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{APIGroups: []string{r.Group}, APIVersions: []string{r.Version},
			Resources: []string{resource}, Scope: &scope},
	}
}
