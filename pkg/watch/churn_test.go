package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// event returns an event of a Deployment as API servers send it, with the fields that Helm and a controller manage.
func event(t testing.TB, version int, replicas int) []byte {
	t.Helper()
	probe := map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": "http"}, "periodSeconds": 10,
		"failureThreshold": 3}
	spec := map[string]any{"replicas": replicas, "strategy": map[string]any{"type": "RollingUpdate",
		"rollingUpdate": map[string]any{"maxSurge": "25%"}},
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec": map[string]any{
				"containers": []any{map[string]any{"name": "web", "image": "registry.example/web:1",
					"args":          []any{"serve", "--config=/etc/web.yaml"},
					"livenessProbe": probe, "readinessProbe": probe,
					"ports":     []any{map[string]any{"name": "http", "containerPort": 8080}},
					"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}}}},
				"securityContext": map[string]any{}, "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
			}}}
	text, err := json.Marshal(map[string]any{"type": "MODIFIED", "object": map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
		"metadata": map[string]any{"name": "web", "namespace": "apps", "resourceVersion": fmt.Sprint(version),
			"uid": "0b0f", "generation": 1,
			"labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"},
			"annotations": map[string]any{"meta.helm.sh/release-name": "web",
				"meta.helm.sh/release-namespace": "apps"},
			"managedFields": []any{map[string]any{"manager": "helm", "fieldsV1": fieldsOf(spec)},
				map[string]any{"manager": "x", "fieldsV1": fieldsOf(spec)}}},
		"status": map[string]any{"observedGeneration": 1,
			"conditions": []any{map[string]any{"type": "Progressing", "message": fmt.Sprint("update ", version)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func fieldsOf(v any) any {
	fields := map[string]any{}
	if m, ok := v.(map[string]any); ok {
		for name, e := range m {
			fields["f:"+name] = fieldsOf(e)
		}
	}
	return fields
}

// A change of the content is told from the changes of the status around it, at whatever speed they come: here as
// fast as they can be read.
func TestNoChangeIsLostAmongStatusUpdates(t *testing.T) {
	const events, every = 20000, 50
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range events {
			if _, err := w.Write(event(t, i+1, 1+i/every)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	watch, err := c.Watch(t.Context(), deployments, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	h, judged, changes, seen := drift.NewHasher(), uint64(0), int64(0), 0
	for e := range watch.ResultChan() {
		live, ok := e.Object.(*Live)
		if !ok {
			t.Fatalf("delivered a %T", e.Object)
		}
		seen++
		digest, err := live.Digest(h)
		if err != nil {
			t.Fatal(err)
		}
		if digest != judged {
			judged = digest
			changes++
			u, err := live.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); n != changes {
				t.Fatalf("change %d has %d replicas", changes, n)
			}
		}
	}
	if seen != events || changes != events/every {
		t.Errorf("%d events and %d changes, want %d and %d", seen, changes, events, events/every)
	}
}

func BenchmarkStatusEvent(b *testing.B) {
	text, h := event(b, 1, 1), drift.NewHasher()
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, object, err := eventOf(text)
		if err != nil {
			b.Fatal(err)
		}
		live, err := newLive(object, metav1.TypeMeta{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := live.Digest(h); err != nil {
			b.Fatal(err)
		}
	}
}
