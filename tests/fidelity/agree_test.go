package fidelity

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// leftAlone are objects with one edit each that is not drift. An edit without a patch deletes the object.
var leftAlone = []shape{
	{
		object: "configmaps/exempt",
		manifest: `
apiVersion: v1
kind: ConfigMap
metadata: {name: exempt, annotations: {note: NOTE, helmreleases.cattle.io/lock: disabled}}
data: {key: declared}
`,
		edits: []edit{{name: "exempt by the manifest", patch: `{"data":{"key":"other"}}`}},
	},
	{
		object: "mutatingwebhookconfigurations/blank-{{ .Release.Namespace }}", cluster: true,
		manifest: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "blank-{{ .Release.Namespace }}", annotations: {note: NOTE}}
webhooks:
- name: blank.example.com
  clientConfig: {caBundle: Cg==, service: {name: web, namespace: "{{ .Release.Namespace }}", path: /blank}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
`,
		edits: []edit{setting("injected caBundle", "/webhooks/0/clientConfig/caBundle",
			`"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"`)},
	},
	{
		object: "widgets/grown",
		manifest: `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: grown, annotations: {note: NOTE}}
spec: {keyed: [{name: one, port: 80}], tags: [a]}
`,
		edits: []edit{{name: "further elements", patch: ops(add("/spec/keyed/-", `{"name":"two","port":81}`),
			add("/spec/tags/-", `"b"`))}},
	},
	{
		object: "jobs/short",
		manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: short, annotations: {note: NOTE}}
spec:
  ttlSecondsAfterFinished: 60
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}
`,
		edits: []edit{{name: "deleted after it finished"}},
	},
	{
		object: "deployments/scaled",
		manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled, annotations: {note: NOTE}}
spec:
  replicas: 2
  selector: {matchLabels: {app: scaled}}
  template: {metadata: {labels: {app: scaled}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: scaled}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}, minReplicas: 1, maxReplicas: 5}
`,
		edits: []edit{{name: "scaled within the range of the release's autoscaler", patch: `{"spec":{"replicas":4}}`}},
	},
	{
		object: "deployments/foreign",
		manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: foreign, annotations: {note: NOTE}}
spec:
  replicas: 2
  selector: {matchLabels: {app: foreign}}
  template: {metadata: {labels: {app: foreign}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
`,
		edits: []edit{{name: "scaled within the range of an autoscaler of somebody else", patch: `{"spec":{"replicas":4}}`}},
	},
}

const foreignAutoscaler = `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"foreign"},"spec":{` +
	`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"foreign"},"minReplicas":1,"maxReplicas":5}}`

// `diff`, the page and the operator agree on drift: for each edit of each shape, and for each of leftAlone.
func TestDiffAndTheOperatorAgree(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		group := w.Apps + ".example.com"
		w.define(group, "Widget", properties, properties, nil)
		shapes := append([]shape{widget, ports, data, account, ingress, policy, mergeKeys}, leftAlone...)
		for i := range shapes {
			shapes[i].object = strings.ReplaceAll(shapes[i].object, "{{ .Release.Namespace }}", w.Apps)
			shapes[i].manifest = strings.ReplaceAll(shapes[i].manifest, "GROUP", group)
			if strings.HasPrefix(shapes[i].object, "widgets/") {
				shapes[i].group = group
			}
		}
		scalers := resource("horizontalpodautoscalers")
		scalers.Version = "v1"
		w.Create(scalers, w.Apps, foreignAutoscaler)
		r := w.install(helm.Name, helm, shapes)
		r.agrees(t)
	})
}

// agrees makes the edits of all shapes, one of each at a time, while the release is unlocked. The operator writes
// exactly the differences found by diff once the release is locked, and diff finds nothing after that.
func (r *release) agrees(t *testing.T) {
	cluster := r.Inspect()
	found := r.diff(cluster)
	check.That(t, len(found) == 0, "diff finds %v in what was just installed", found)
	for i, more := 0, true; more; i++ {
		r.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
		r.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
		more = false
		edited := map[string]string{}
		for _, s := range r.shapes {
			if i < len(s.edits) && (s.edits[i].helm == "" || s.edits[i].helm == r.helmName) {
				r.target(s).edit(s.edits[i])
				edited[s.object] = s.edits[i].name
			}
			more = more || i+1 < len(s.edits)
		}
		found := r.diff(cluster)
		for _, s := range leftAlone {
			object := strings.ReplaceAll(s.object, "{{ .Release.Namespace }}", r.Apps)
			if slices.Contains(found, object) {
				t.Errorf("diff calls it drift: %s, %s", object, s.edits[0].name)
			}
		}
		r.Proxy.Reset()
		r.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
		r.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
		r.WaitReady("app", 0)
		r.Until("diff finds nothing", func() (any, bool) {
			left := r.diff(cluster)
			return left, len(left) == 0
		})
		written := r.written()
		check.That(t, slices.Equal(found, written), "round %d: diff finds %v, the operator writes %v; edits: %v", i, found,
			written, edited)
	}
}

// edit makes an edit. One without a patch deletes the object.
func (o *target) edit(e edit) {
	o.Helper()
	if e.patch != "" {
		o.tamper(e.patchType(), e.patch, kit.Tamperer)
		return
	}
	background := metav1.DeletePropagationBackground
	check.NoError(o, o.In(o.gvr, o.namespace()).Delete(o.Ctx, o.name(),
		metav1.DeleteOptions{PropagationPolicy: &background}))
}

// diff returns the drifted objects according to `helm-locker diff`, as "plural/name".
func (r *release) diff(cluster *inspect.Cluster) []string {
	r.Helper()
	found := map[string]bool{}
	for _, object := range r.DiffWith(cluster, "app") {
		kind, name, _ := strings.Cut(object, "/")
		found[plural(kind)+"/"+name] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func plural(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case strings.HasSuffix(kind, "ss"):
		return kind + "es"
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// written returns the objects written by the operator since the last Reset, as "plural/name".
func (r *release) written() []string {
	written := map[string]bool{}
	for _, request := range r.landed() {
		segments := strings.Split(request.Path, "/")
		written[request.Resource()+"/"+segments[len(segments)-1]] = true
	}
	return slices.Sorted(maps.Keys(written))
}
