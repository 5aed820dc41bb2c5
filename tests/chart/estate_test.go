package chart

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// estate is a chart with objects that need difficult permissions: RBAC objects of all kinds, an aggregated role, a
// binding to a ClusterRole, a policy with parameters, objects of two namespaces. Every object declares the label
// part.
const estate = `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
data: {key: declared}
---
{{- if not .Values.small }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-former, labels: {part: estate}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: {{ .Release.Name }}-former, labels: {part: estate}}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.org/c:1}]}}}}
---
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Values.elsewhere }}, labels: {part: estate}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
stringData: {password: "1234"}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
spec: {selector: {app: x}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
spec:
  replicas: 1
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: example.org/c:1}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
rules: [{apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}, labels: {part: estate}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}, labels: {part: estate}}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}, {nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}-aggregated, labels: {part: estate}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {none: none}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}, labels: {part: estate}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: {{ .Release.Namespace }}-{{ .Release.Name }}, labels: {part: estate}}
spec:
  paramKind: {apiVersion: networking.k8s.io/v1, kind: IngressClass}
  matchConstraints: {resourceRules: [{apiGroups: [none.example], apiVersions: [v1], operations: [CREATE], resources: [nones]}]}
  validations: [{expression: "true"}]
`

// estateObject is an object of the estate.
type estateObject struct {
	gvr             schema.GroupVersionResource
	namespace, name string
}

func (o estateObject) String() string { return o.gvr.Resource + " " + o.namespace + "/" + o.name }

const rbacGroup = "rbac.authorization.k8s.io"

// estateObjects returns the objects of a release of the estate.
func estateObjects(e *kit.Env, release, elsewhere string) []estateObject {
	in := func(group, version, resource, namespace, name string) estateObject {
		return estateObject{schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, namespace,
			name}
	}
	wide := e.Apps + "-" + release
	return []estateObject{
		in("", "v1", "configmaps", e.Apps, release), in("", "v1", "configmaps", elsewhere, release),
		in("", "v1", "secrets", e.Apps, release),
		in("", "v1", "services", e.Apps, release), in("apps", "v1", "deployments", e.Apps, release),
		in(rbacGroup, "v1", "roles", e.Apps, release), in(rbacGroup, "v1", "rolebindings", e.Apps, release),
		in(rbacGroup, "v1", "clusterroles", "", wide), in(rbacGroup, "v1", "clusterroles", "", wide+"-aggregated"),
		in(rbacGroup, "v1", "clusterrolebindings", "", wide),
		in("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "", wide),
	}
}

// installEstate installs the estate, with objects in another namespace, too, and upgrades it to a revision that
// declares less. Its objects that Helm deleted exist again afterwards, as after a failed deletion.
func installEstate(e *kit.Env, h cluster.Helm, release, elsewhere string) {
	e.Helper()
	chart := e.Chart("estate", estate)
	e.Helm(h, "install", release, chart, "--set", "elsewhere="+elsewhere)
	former := formerObjects(e, release)
	var kept []*unstructured.Unstructured
	for _, o := range former {
		kept = append(kept, o.get(e))
	}
	e.Helm(h, "upgrade", release, chart, "--set", "elsewhere="+elsewhere, "--set", "small=true")
	for i, o := range former {
		u := kept[i].DeepCopy()
		u.SetResourceVersion("")
		u.SetUID("")
		u.SetManagedFields(nil)
		_, err := e.In(o.gvr, o.namespace).Create(e.Ctx, u, metav1.CreateOptions{FieldManager: "helm"})
		check.NoError(e, err)
	}
	// Objects younger than the newest record are no prune candidates.
	e.NextSecond(former[len(former)-1].get(e))
	e.Helm(h, "upgrade", release, chart, "--set", "elsewhere="+elsewhere, "--set", "small=true")
}

// formerObjects are those that only the first revision declares.
func formerObjects(e *kit.Env, release string) []estateObject {
	return []estateObject{
		{kit.ConfigMaps, e.Apps, release + "-former"},
		{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, e.Apps, release + "-former"},
	}
}

// get returns the object, nil when it does not exist.
func (o estateObject) get(e *kit.Env) *unstructured.Unstructured {
	u, err := e.In(o.gvr, o.namespace).Get(e.Ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return u
}

// tamper changes the object's label.
func (o estateObject) tamper(e *kit.Env) {
	e.Helper()
	e.PatchIn(o.gvr, o.namespace, o.name, `{"metadata":{"labels":{"part":"mine"}}}`)
}

// waitRestored waits until the object exists as declared, with another uid.
func (o estateObject) waitRestored(e *kit.Env, not types.UID) {
	e.Helper()
	e.Eventually(o.String()+" is as declared", func() error {
		u := o.get(e)
		switch {
		case u == nil:
			return fmt.Errorf("it does not exist")
		case u.GetUID() == not:
			return fmt.Errorf("it is still the old one")
		case u.GetLabels()["part"] != "estate":
			return fmt.Errorf("its label is %q", u.GetLabels()["part"])
		}
		return nil
	})
}

func (o estateObject) delete(e *kit.Env) types.UID {
	e.Helper()
	u := o.get(e)
	if u == nil {
		e.Fatalf("%s does not exist", o)
	}
	check.NoError(e, e.In(o.gvr, o.namespace).Delete(e.Ctx, o.name, metav1.DeleteOptions{}))
	return u.GetUID()
}

func (o estateObject) aggregated() bool { return strings.HasSuffix(o.name, "-aggregated") }
