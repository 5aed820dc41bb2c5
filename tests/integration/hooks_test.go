package integration

import (
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
