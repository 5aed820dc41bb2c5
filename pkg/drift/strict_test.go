package drift

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// strictDesired is the chart of the live objects in testdata/strict-helm*.yaml.
var strictDesired = map[string]string{
	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: c, meta.helm.sh/release-namespace: %s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        env: [{name: A, value: "1"}]
        ports: [{containerPort: 80}]`,
	"Service": `
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: c, meta.helm.sh/release-namespace: %s}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80}]`,
	"ConfigMap": `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: c, meta.helm.sh/release-namespace: %s}
data: {a: "1"}`,
	"Role": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: c, meta.helm.sh/release-namespace: %s}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
}

func TestStrictOnObjectsOfAnAPIServer(t *testing.T) {
	const pod = "/spec/template/spec"
	want := map[string]map[string]string{ // by kind: change and who made it
		"Deployment": {
			"Added /metadata/labels/team":                 "kubectl-label",
			"Added /metadata/labels/argo":                 "argo",
			"Added /metadata/annotations/note":            "kubectl-annotate",
			"Added /spec/revisionHistoryLimit":            "kubectl-patch",
			"Added /spec/template/metadata/annotations":   "kubectl-patch",
			"Added " + pod + "/containers/%d side":        "kubectl-patch",
			"Added " + pod + "/containers/%d argo":        "argo",
			"Added " + pod + "/initContainers":            "kubectl-patch",
			"Added " + pod + "/tolerations":               "kubectl-patch",
			"Added " + pod + "/containers/0/env/1":        "kubectl-set",
			"Added " + pod + "/containers/0/volumeMounts": "mounter",
			"Added " + pod + "/volumes":                   "mounter",
		},
		"Service": {"Added /spec/ports/1": "kubectl-patch"},
		"ConfigMap": {"Added /data/b": "kubectl-patch", "Added /metadata/finalizers/0": "kubectl-patch",
			"Added /metadata/ownerReferences/0": "kubectl-patch"},
		"Role": {"Modified /rules": "kubectl-patch"},
	}
	for _, helm := range []string{"3", "4"} {
		for kind, live := range realObjects(t, "strict-helm"+helm+".yaml") {
			t.Run("Helm "+helm+" "+kind, func(t *testing.T) {
				desired := obj(t, fmt.Sprintf(strictDesired[kind], "h"+helm))
				opt := strictOptions(t, desired, live.GetManagedFields())
				r := checkStrict(t, desired, live.Object, opt)
				expected := map[string]string{}
				for change, manager := range want[kind] {
					var name string
					if n, err := fmt.Sscanf(change, "Added "+pod+"/containers/%%d %s", &name); err == nil && n == 1 {
						at := slices.IndexFunc(at(live.Object, "spec", "template", "spec", "containers").([]any),
							func(e any) bool { return e.(map[string]any)["name"] == name })
						change = fmt.Sprintf("Added %s/containers/%d", pod, at)
					}
					expected[change] = manager
				}
				for _, c := range r.Changes {
					key := string(c.Op) + " " + c.Path
					author := Attribute(live.GetManagedFields(), desired, live.Object, []Change{c}, opt.Strict.Helm)[0]
					check.That(t, expected[key] != "" && author.Manager == expected[key], "%s is attributed to %q, want %q", key,
						author.Manager, expected[key])
					delete(expected, key)
				}
				check.That(t, len(expected) == 0, "not found: %v", expected)
				declared := opt
				declared.Strict = nil
				plain := Compare(desired, live.Object, declared)
				if kind != "Role" && kind != "ConfigMap" && len(plain.Changes) > 0 {
					t.Errorf("scope Declared finds %q", changes(plain.Changes))
				}
			})
		}
	}
}

func TestStrictTargetIsWhatHelmMade(t *testing.T) {
	live := realObjects(t, "strict-helm4.yaml")["Deployment"]
	desired := obj(t, fmt.Sprintf(strictDesired["Deployment"], "h4"))
	r := Compare(desired, live.Object, strictOptions(t, desired, live.GetManagedFields()))
	spec := at(r.Target, "spec", "template", "spec").(map[string]any)
	l := spec["containers"].([]any)
	check.That(t, len(l) == 1 && len(at(l[0], "env").([]any)) == 1 && at(l[0], "volumeMounts") == nil, "containers %v", l)
	if spec["volumes"] != nil || spec["initContainers"] != nil || spec["tolerations"] != nil ||
		at(r.Target, "spec", "revisionHistoryLimit") != nil {
		t.Errorf("spec %v", at(r.Target, "spec"))
	}
	if spec["dnsPolicy"] != "ClusterFirst" || at(r.Target, "spec", "progressDeadlineSeconds") != int64(600) {
		t.Errorf("a default is gone: %v", at(r.Target, "spec"))
	}
	check.That(t, at(r.Target, "metadata", "annotations", "deployment.kubernetes.io/revision") != nil,
		"the annotation of kube-controller-manager is gone")
}

// strictHelm is Helm's entry in the cases below.
const strictHelm = `{"f:metadata":{"f:annotations":{".":{},"f:meta.helm.sh/release-name":{},"f:meta.helm.sh/release-namespace":{}},` +
	`"f:labels":{"f:app":{},"f:app.kubernetes.io/managed-by":{}}}}`

// strictCase is one comparison in scope Strict; the desired object has the name x.
type strictCase struct {
	desired, live string
	fields        []metav1.ManagedFieldsEntry // beside Helm's
	keep          func(string) bool
	ignore        func([]string) bool
	want          []string
	without       []string // pointers that the target lacks
	with          []string // pointers that it still has
}

func (tc strictCase) run(t *testing.T) {
	t.Helper()
	desired, live := obj(t, tc.desired), obj(t, tc.live)
	opt := strictOptions(t, desired, append(entries{wrote("helm", update, "", 1, strictHelm)},
		tc.fields...))
	opt.Ignore, opt.Strict.Keep = tc.ignore, tc.keep
	r := checkStrict(t, desired, live, opt)
	sameChanges(t, r.Changes, tc.want...)
	for _, c := range r.Changes {
		author := Attribute(opt.Strict.ManagedFields, desired, live, []Change{c}, opt.Strict.Helm)[0]
		if c.Op == Added && author.Manager != "x" && author.Manager != "y" && author.Manager != "kubectl" {
			t.Errorf("%s %s is attributed to %q", c.Op, c.Path, author.Manager)
		}
	}
	target := r.Target
	if target == nil {
		target = live
	}
	for _, p := range tc.without {
		v := at(target, parsePointer(p)...)
		check.That(t, v == nil, "%s is still there: %v", p, v)
	}
	for _, p := range tc.with {
		check.That(t, at(target, parsePointer(p)...) != nil, "%s is gone", p)
	}
}

// by is an entry of the foreign manager "x".
func by(fields string) metav1.ManagedFieldsEntry { return wrote("x", update, "", 5, fields) }
