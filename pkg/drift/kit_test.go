package drift

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// obj parses YAML, in which a tab is two spaces.
func obj(t testing.TB, text string) map[string]any {
	t.Helper()
	return fixture.Object(t, strings.ReplaceAll(text, "\t", "  "))
}

func schemas(t testing.TB) *Schemas {
	t.Helper()
	s, err := NewSchemas()
	check.NoError(t, err)
	return s
}

// schemaOf is the schema of an object by its own apiVersion and kind.
func schemaOf(s *Schemas, o map[string]any) Schema {
	apiVersion, _ := o["apiVersion"].(string)
	kind, _ := o["kind"].(string)
	return s.For(schema.FromAPIVersionAndKind(apiVersion, kind))
}

// changes writes changes as "Op /path", for comparison.
func changes(list []Change) []string {
	var out []string
	for _, c := range list {
		out = append(out, string(c.Op)+" "+c.Path)
	}
	return out
}

// paths returns the paths of changes.
func paths(list []Change) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Path)
	}
	return out
}

func sameChanges(t *testing.T, got []Change, want ...string) {
	t.Helper()
	if !slices.Equal(changes(got), want) {
		t.Errorf("changes:\n got  %q\n want %q", changes(got), want)
	}
}

func clone(o map[string]any) map[string]any { return deepCopy(o).(map[string]any) }

// at returns what a path leads to.
func at(o any, path ...string) any {
	for _, p := range path {
		switch x := o.(type) {
		case map[string]any:
			o = x[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i >= len(x) {
				return nil
			}
			o = x[i]
		default:
			return nil
		}
	}
	return o
}

// corpusObjects returns the objects of every chart in the shared corpus, as the release package would hand them
// over: no nulls and no status.
func corpusObjects(t testing.TB) []map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../../shared/corpus/*/manifest.yaml")
	check.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the corpus of chart manifests (../shared/corpus) is not here")
	}
	var objects []map[string]any
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.NoError(t, err)
		for _, doc := range strings.Split("\n"+string(data), "\n---") {
			if o := obj(t, doc); len(o) > 0 {
				delete(o, "status")
				objects = append(objects, withoutNulls(o).(map[string]any))
			}
		}
	}
	return objects
}

func withoutNulls(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if e == nil {
				delete(x, k)
			} else {
				x[k] = withoutNulls(e)
			}
		}
	case []any:
		for i, e := range x {
			x[i] = withoutNulls(e)
		}
	}
	return v
}

// deployment is a desired object of common size and shape; deploymentLive is what a cluster makes of it.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: apps
  labels: {app.kubernetes.io/managed-by: Helm, app: web}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: apps}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      securityContext: {}
      initContainers:
      - {name: migrate, image: web:1, command: [migrate, --all]}
      - {name: warm, image: web:1}
      containers:
      - name: web
        image: web:1
        args: [--port, "80"]
        ports:
        - {name: http, containerPort: 80}
        - {name: dns, containerPort: 53, protocol: UDP}
        - {name: dns-tcp, containerPort: 53, protocol: TCP}
        env:
        - {name: MODE, value: prod}
        - {name: EMPTY, value: ""}
        - name: POD
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: URL, value: http://$(POD)}
        livenessProbe: {httpGet: {path: /healthz, port: http}}
        resources: {limits: {cpu: "1", memory: 1Gi}}
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: config, mountPath: /etc/web}
      - name: proxy
        image: proxy:3
        ports: [{containerPort: 8443}]
      volumes:
      - {name: tmp, emptyDir: {}}
      - {name: config, configMap: {name: web}}
      tolerations:
      - {key: dedicated, operator: Exists}
      - {key: spot, operator: Exists, effect: NoSchedule}
`

const deploymentLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: apps
  uid: 0b0f
  resourceVersion: "4711"
  generation: 3
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {app.kubernetes.io/managed-by: Helm, app: web, team: blue}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: apps, deployment.kubernetes.io/revision: "1"}
  managedFields: [{manager: helm, operation: Update}]
spec:
  progressDeadlineSeconds: 600
  revisionHistoryLimit: 10
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: Recreate}
  template:
    metadata: {creationTimestamp: null, labels: {app: web}}
    spec:
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      serviceAccount: web
      serviceAccountName: web
      securityContext: {}
      initContainers:
      - {name: migrate, image: web:1, command: [migrate, --all], resources: {}, imagePullPolicy: IfNotPresent}
      - {name: warm, image: web:1, resources: {}, imagePullPolicy: IfNotPresent}
      containers:
      - name: web
        image: web:1
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        args: [--port, "80"]
        ports:
        - {name: http, containerPort: 80, protocol: TCP}
        - {name: dns, containerPort: 53, protocol: UDP}
        - {name: dns-tcp, containerPort: 53, protocol: TCP}
        env:
        - {name: MODE, value: prod}
        - {name: EMPTY}
        - name: POD
          valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
        - {name: URL, value: http://$(POD)}
        livenessProbe: {httpGet: {path: /healthz, port: http, scheme: HTTP}, periodSeconds: 10, failureThreshold: 3}
        resources: {limits: {cpu: "1", memory: 1Gi}}
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: config, mountPath: /etc/web}
      - name: proxy
        image: proxy:3
        imagePullPolicy: IfNotPresent
        ports: [{containerPort: 8443, protocol: TCP}]
        resources: {}
      volumes:
      - {name: tmp, emptyDir: {}}
      - {name: config, configMap: {name: web, defaultMode: 420}}
      tolerations:
      - {key: dedicated, operator: Exists}
      - {key: spot, operator: Exists, effect: NoSchedule}
status: {replicas: 2, readyReplicas: 2, observedGeneration: 3}
`

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	check.NoError(t, err)
	return string(data)
}
