package integration

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// withHook is a chart in which two objects are hooks, with Helm's ownership metadata, in revisions that name an
// event.
const withHook = `
apiVersion: v1
kind: ConfigMap
metadata: {name: stays}
data: {key: declared}
{{- range $name := list "before" "after" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations:
    meta.helm.sh/release-name: {{ $.Release.Name }}
    meta.helm.sh/release-namespace: {{ $.Release.Namespace }}
    {{- with index $.Values $name }}
    helm.sh/hook: {{ . }}
    {{- end }}
data: {key: declared}
{{- end }}
{{- if .Values.dropped }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dropped}
data: {key: declared}
{{- end }}
`

// TestI2_AHookIsNoLeftover turns objects of a release into hooks: hooks just created by Helm stay, and so do those of
// an earlier revision that the newest one lists.
func TestI2_AHookIsNoLeftover(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", withHook)
		w.Helm(helm, "install", "app", chart, "--set", "before=,after=,dropped=true")
		w.Lock("app")
		w.NextSecond(w.Get(kit.ConfigMaps, "stays"), w.Get(kit.ConfigMaps, "dropped"), w.Get(kit.ConfigMaps, "after"))
		w.Helm(helm, "upgrade", "app", chart, "--set", "before=,after=post-upgrade,dropped=true")
		w.prunes("app", 2)
		made := w.expectHook("after", "")
		w.NextSecond(w.Get(kit.ConfigMaps, "after"))
		// The hook of revision 2 does not run again.
		w.Helm(helm, "upgrade", "app", chart, "--set", "before=,after=post-install,dropped=true")
		w.prunes("app", 3)
		w.expectHook("after", made)
	})
}

// TestI2_WhatWasMadeAfterTheRecordIsNoLeftover re-creates an object dropped by the newest revision, as an operator
// started by a hook may do: it is no prune candidate.
func TestI2_WhatWasMadeAfterTheRecordIsNoLeftover(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	chart := w.Chart("app", withHook)
	w.Helm(kit.Shared.Helm3(), "install", "app", chart, "--set", "before=,after=,dropped=true")
	w.Helm(kit.Shared.Helm3(), "upgrade", "app", chart, "--set", "before=,after=,dropped=")
	w.NextSecond(w.Get(kit.ConfigMaps, "stays"))
	w.owned(kit.ConfigMaps, "ConfigMap", "dropped", "data", nil)
	w.Lock("app")
	w.prunes("app", 2)
	u := w.Get(kit.ConfigMaps, "dropped")
	check.That(t, u != nil && u.GetDeletionTimestamp() == nil, "it was deleted")
}

// prunes waits until the operator has checked for prune candidates under the lock of a revision.
func (w *fixture) prunes(name string, revision int) {
	w.Helper()
	w.WaitReady(name, revision)
	w.Until("leftovers were looked for", func() (any, bool) {
		log := w.Running.Log()
		at := strings.LastIndex(log, "msg=locked")
		const leftAlone = "left over from an earlier revision and left alone"
		return log[max(at, 0):], at >= 0 && strings.Contains(log[at:], leftAlone)
	})
}

// expectHook fails the test if a ConfigMap does not exist, or has another uid than the given one, if any. It returns
// the uid.
func (w *fixture) expectHook(name string, uid types.UID) types.UID {
	w.Helper()
	u := w.Get(kit.ConfigMaps, name)
	if u == nil || u.GetDeletionTimestamp() != nil {
		w.Fatalf("ConfigMap %s was deleted", name)
	}
	if uid != "" && u.GetUID() != uid {
		w.Errorf("ConfigMap %s was made again", name)
	}
	return u.GetUID()
}

// comesAndGoes are templates by which an object is Helm's in one of three revisions without being in the manifest of
// another one, or is in each manifest in another way.
var comesAndGoes = map[string]string{
	"a lookup that finds nothing at first, and keep": `
{{- if not (lookup "v1" "ConfigMap" .Release.Namespace "once-kept") }}
apiVersion: v1
kind: ConfigMap
metadata: {name: once-kept, annotations: {helm.sh/resource-policy: keep}}
{{- end }}`,
	"a lookup that finds nothing in turns": `
{{- if not (lookup "v1" "ConfigMap" .Release.Namespace "in-turns") }}
apiVersion: v1
kind: ConfigMap
metadata: {name: in-turns}
{{- end }}`,
	"a hook in revision 2": `
apiVersion: v1
kind: ConfigMap
metadata:
  name: hook-between
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations:
    meta.helm.sh/release-name: {{ .Release.Name }}
    meta.helm.sh/release-namespace: {{ .Release.Namespace }}
    {{- if eq .Values.rev 2.0 }}
    helm.sh/hook: post-upgrade
    {{- end }}`,
	"from the crds directory into a template, and back": `
{{- if eq .Values.rev 2.0 }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "tins.{{ .Release.Namespace }}.example.com", annotations: {helm.sh/resource-policy: keep}}
spec:
  group: {{ .Release.Namespace }}.example.com
  scope: Namespaced
  names: {plural: tins, singular: tin, kind: Tin, listKind: TinList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
{{- end }}`,
	"keep in revision 2, dropped in revision 3": `
{{- if lt .Values.rev 3.0 }}
apiVersion: v1
kind: ConfigMap
metadata: {name: kept-late{{ if eq .Values.rev 2.0 }}, annotations: {helm.sh/resource-policy: keep}{{ end }}}
{{- end }}`,
	"adopted in revision 2, dropped in revision 3": `
{{- if eq .Values.rev 2.0 }}
apiVersion: v1
kind: ConfigMap
metadata: {name: adopted, annotations: {helm.sh/resource-policy: keep}}
{{- end }}`,
	"its namespace is written in revision 2": `
apiVersion: v1
kind: ConfigMap
metadata: {name: written{{ if eq .Values.rev 2.0 }}, namespace: {{ .Release.Namespace }}{{ end }}}`,
	"of the whole cluster, with a namespace in revision 2": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}-role"{{ if eq .Values.rev 2.0 }}, namespace: {{ .Release.Namespace }}{{ end }}}
rules: [{apiGroups: [none.example.com], resources: [none], verbs: [get]}]`,
	"in a list in revision 2": `
{{- if eq .Values.rev 2.0 }}
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}
{{- else }}
apiVersion: v1
kind: ConfigMap
metadata: {name: listed}
{{- end }}`,
	"of another version in revision 2": `
apiVersion: autoscaling/{{ if eq .Values.rev 2.0 }}v1{{ else }}v2{{ end }}
kind: HorizontalPodAutoscaler
metadata: {name: versions}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}`,
	"the last candidate, which tells that all were looked at": `
{{- if eq .Values.rev 1.0 }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: zzz, annotations: {helm.sh/resource-policy: keep}}
{{- end }}`,
}

// moving is a sub-chart that has another alias from revision 2 on.
var moving = map[string]string{
	"Chart.yaml": `apiVersion: v2
name: app
version: 0.1.0
dependencies:
- {name: sub, version: 0.1.0, alias: first, condition: first.enabled}
- {name: sub, version: 0.1.0, alias: second, condition: second.enabled}
`,
	"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
	"charts/sub/templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: moved}
data: {chart: {{ .Chart.Name }}}
`,
	"crds/tins.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tins.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {plural: tins, singular: tin, kind: Tin, listKind: TinList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
}

// TestI2_NothingThatHelmMadeIsPruned upgrades a release whose objects come and go, with a lock and without one. After
// each revision, and with a lock that begins after the last one, the same objects exist.
func TestI2_NothingThatHelmMadeIsPruned(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		locked := newFixture(t)
		free := &fixture{Fixture: locked.On(t)}
		free.Apps = free.Namespace(locked.Apps + "-free")
		for _, w := range []*fixture{locked, free} {
			w.Kubectl("create", "configmap", "adopted")
			w.Helm(helm, append([]string{"install", "app", w.movingChart()}, revision("1")...)...)
		}
		locked.Lock("app")
		for rev := 2; rev <= 4; rev++ {
			if rev == 4 {
				locked.DeleteHelmRelease("app")
				locked.Lock("app")
			} else {
				for _, w := range []*fixture{locked, free} {
					w.Helm(helm, append([]string{"upgrade", "app", w.movingChart(), "--take-ownership"},
						revision(string(rune('0'+rev)))...)...)
				}
				locked.WaitReady("app", rev)
			}
			locked.Until("all leftovers were looked at", func() (any, bool) {
				log := locked.Running.Log()
				log = log[strings.LastIndex(log, "msg=locked"):]
				return log, strings.Contains(log, "left alone") && strings.Contains(log, "/zzz\"")
			})
			got, want := locked.existing(), free.existing()
			check.That(t, slices.Equal(got, want), "revision %d: with a lock there are %q, without one %q", rev, got, want)
		}
	})
}

// revision returns the flags of a revision of the chart below.
func revision(rev string) []string {
	first, second := "false", "true"
	if rev == "1" {
		first, second = second, first
	}
	return []string{"--set-json", "rev=" + rev, "--set", "first.enabled=" + first + ",second.enabled=" + second}
}

// movingChart writes a chart of comesAndGoes and moving.
func (w *fixture) movingChart() string {
	w.Helper()
	chart := w.Chart("app", strings.Join(slices.Collect(maps.Values(comesAndGoes)), "\n---"))
	for file, text := range moving {
		file = filepath.Join(chart, file)
		check.NoError(w, os.MkdirAll(filepath.Dir(file), 0o700))
		check.NoError(w, os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAMESPACE", w.Apps)), 0o600))
	}
	return chart
}

// existing returns the objects of the chart that exist, by kind and name without the namespace.
func (w *fixture) existing() []string {
	w.Helper()
	names := w.Kubectl("get", "configmaps,serviceaccounts,horizontalpodautoscalers", "-o", "name")
	for name := range strings.Lines(w.Kubectl("get", "clusterroles,customresourcedefinitions", "-o", "name")) {
		if _, plain, ok := strings.Cut(name, w.Apps); ok && (plain[0] == '.' || strings.HasPrefix(plain, "-role")) {
			names += strings.ReplaceAll(name, w.Apps, "")
		}
	}
	all := strings.Fields(names)
	slices.Sort(all)
	return all
}
