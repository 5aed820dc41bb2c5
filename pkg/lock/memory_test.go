package lock_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// shop is what a chart of a small web service declares.
const shop = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: %[1]s-config
  labels: {app.kubernetes.io/name: shop, app.kubernetes.io/instance: %[1]s, helm.sh/chart: shop-1.2.3}
data:
  value: declared
  application.yaml: |
%[2]s---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s-web
  labels: {app.kubernetes.io/name: shop, app.kubernetes.io/instance: %[1]s, helm.sh/chart: shop-1.2.3}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/name: %[1]s}}
  template:
    metadata: {labels: {app.kubernetes.io/name: %[1]s}}
    spec:
      serviceAccountName: default
      containers:
      - name: web
        image: registry.example/shop/web:1.0.0
        args: [serve, --config=/etc/web/application.yaml]
        env:
        - {name: LOG_LEVEL, value: info}
        - {name: REGION, value: eu-1}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        ports: [{name: http, containerPort: 8080}]
        livenessProbe: {httpGet: {path: /healthz, port: http}}
        readinessProbe: {httpGet: {path: /healthz, port: http}}
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      volumes: [{name: config, configMap: {name: %[1]s-config}}]
---
`

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// locked returns locks of so many releases with so many objects each, all judged to be as declared.
func locked(tb testing.TB, schemas *drift.Schemas, releases, each int) *lock.Table {
	tb.Helper()
	table, kinds := lock.NewTable(), &lock.Kinds{}
	for r := range releases {
		key := release.Key{Namespace: fmt.Sprintf("namespace-%d", r%10), Name: fmt.Sprintf("release-%d", r)}
		var text strings.Builder
		for i := range each / 2 {
			fmt.Fprintf(&text, shop, fmt.Sprintf("%s-%d", key.Name, i),
				strings.Repeat("    some: configuration of the usual length\n", 10))
		}
		set, err := manifest.Parse(text.String())
		check.NoError(tb, err)
		resolved, _, err := set.Resolve(manifest.Release(key),
			func(schema.GroupVersionKind) (bool, error) { return true, nil })
		check.NoError(tb, err)
		var objects []*lock.Object
		for _, o := range resolved {
			desired, err := json.Marshal(o.Content)
			check.NoError(tb, err)
			gvr := schema.GroupVersionResource{Group: o.GVK.Group, Version: o.GVK.Version,
				Resource: strings.ToLower(o.GVK.Kind) + "s"}
			kind := kinds.Share(lock.Kind{GVK: o.GVK, GVR: gvr, Namespaced: true, Schema: schemas.For(o.GVK)})
			o.ID.Group, o.ID.Kind = kind.GVK.Group, kind.GVK.Kind
			objects = append(objects, &lock.Object{ID: o.ID, Kind: kind, Desired: lock.Pack(desired),
				Scalable: judge.Scalable(o.Content, kind.Schema)})
		}
		l := lock.New(&lock.Lock{Key: "system/" + key.Name, Release: key}, objects)
		table.Put(l)
		l.Recheck(now, nil)
		work, _ := l.Take(now)
		for i, w := range work {
			owner := drift.Owner{Manager: strings.Clone("helm"), Operation: "Update", Known: true}
			l.Done(w.ID, lock.Outcome{Good: true, Digest: uint64(i), Version: uint64(i), Owner: owner})
		}
	}
	return table
}

// The memory of a lock for one object, with a share of the memory for its release. It is the larger part of what the
// operator holds.
func TestMemoryOfLockedObjects(t *testing.T) {
	const releases, each, limit = 40, 26, 2000
	got := bytesEach(t, releases, each)
	check.That(t, got <= limit, "%d bytes for each object, want at most %d", got, limit)
}

// bytesEach returns how many bytes are held for each object of so many releases.
func bytesEach(tb testing.TB, releases, each int) int64 {
	tb.Helper()
	held := func() int64 {
		runtime.GC()
		runtime.GC() // the second one empties what sync.Pool keeps through the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	schemas, err := drift.NewSchemas()
	check.NoError(tb, err)
	locked(tb, schemas, 1, each) // whatever is made once is there then
	before := held()
	table := locked(tb, schemas, releases, each)
	after := held()
	runtime.KeepAlive(table)
	return (after - before) / int64(releases*each)
}
