package drift

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAdditions(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, labels: {app: a}},
		spec: {template: {spec: {containers: [{name: c, image: i, env: [{name: A, value: "1"}]}]}}}}`
	const scale = `{"f:spec":{"f:paused":{}}}`
	for name, tc := range map[string]struct {
		desired, object string
		fields          entries
		keep            func(string) bool
		ignore          string // a pointer
		want            []string
		without         string // the object without all of them
	}{
		"nothing": {desired: deployment, object: deployment, without: deployment},
		"fields, elements and a whole map": {
			desired: deployment,
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, uid: u, labels: {app: a, b: c}},
				status: {replicas: 1},
				spec: {template: {spec: {hostPID: true, containers: [{name: s, image: j},
				{name: c, image: i, securityContext: {privileged: true, runAsUser: 5},
				env: [{name: A, value: "1"}, {name: B}]}]}}}}`,
			want: []string{"/metadata/labels/b", "/spec/template/spec/containers/0",
				"/spec/template/spec/containers/0/env/1", "/spec/template/spec/containers/0/securityContext",
				"/spec/template/spec/hostPID"},
			without: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, uid: u, labels: {app: a}}, status: {replicas: 1},
				spec: {template: {spec: {containers: [{name: c, image: i, env: [{name: A, value: "1"}]}]}}}}`,
		},
		"fields without an owner, and of a manager that calls itself helm": {
			desired: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}`,
			object:  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {paused: true, minReadySeconds: 4}}`,
			fields:  entries{wrote("helm", update, "", 5, scale)},
			want:    []string{"/spec"},
			without: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}`,
		},
		"not those of a controller of Kubernetes": {
			desired: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}`,
			object:  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {paused: true, minReadySeconds: 4}}`,
			fields:  entries{wrote("kube-controller-manager", update, "", 5, scale)},
			want:    []string{"/spec/minReadySeconds"},
			without: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {paused: true}}`,
		},
		"not those of the allow-list": {
			desired: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {}}`,
			object:  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {paused: true}}`,
			fields:  entries{wrote("y", update, "", 5, scale)},
			keep:    func(manager string) bool { return manager == "y" },
			without: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {paused: true}}`,
		},
		"not what is ignored": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
			object:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: b, c: d}}}`,
			ignore:  "/metadata/labels/a",
			want:    []string{"/metadata/labels/c"},
			without: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: b}}}`,
		},
		"not what stays whoever owns it": {
			desired: `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}`,
			object: `{apiVersion: v1, kind: Service, metadata: {name: x, finalizers: [service.kubernetes.io/load-balancer-cleanup]},
				spec: {clusterIP: 10.0.0.1, type: NodePort, ports: [{port: 80, nodePort: 30000}]}}`,
			want: []string{"/spec/type"},
			without: `{apiVersion: v1, kind: Service, metadata: {name: x, finalizers: [service.kubernetes.io/load-balancer-cleanup]},
				spec: {clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30000}]}}`,
		},
		"inside the elements of a list of a custom kind": {
			desired: `{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: {list: [{a: 1}, {b: 2}]}}`,
			object:  `{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: {list: [{a: 1, c: 3}, {b: 2}], more: [1]}}`,
			want:    []string{"/spec/list/0/c", "/spec/more"},
			without: `{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: {list: [{a: 1}, {b: 2}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, object := obj(t, tc.desired), obj(t, tc.object)
			opt := Options{Schema: schemaOf(schemas(t), desired)}
			if tc.ignore != "" {
				opt.Ignore = func(path []string) bool { return Pointer(path...) == tc.ignore }
			}
			found := Additions(desired, object, tc.fields, tc.keep, opt)
			var paths []string
			for _, a := range found {
				paths = append(paths, a.Path)
			}
			slices.Sort(paths)
			check.That(t, slices.Equal(paths, tc.want), "additions are %q, want %q", paths, tc.want)
			before := obj(t, tc.object)
			got := Without(object, found)
			check.That(t, reflect.DeepEqual(got, obj(t, tc.without)), "without them it is %v", got)
			check.That(t, reflect.DeepEqual(object, before), "the object was changed")
		})
	}
}

func TestPartsOfAnAddition(t *testing.T) {
	desired := obj(t, `{apiVersion: e/v1, kind: E, metadata: {name: x}}`)
	object := obj(t, `{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: {map: {a: 1, b: 2}, list: [1, 2], z: 1}}`)
	found := Additions(desired, object, nil, nil, Options{Schema: schemaOf(schemas(t), desired)})
	for _, want := range [][]string{
		{"/spec"}, {"/spec/list", "/spec/map", "/spec/z"}, {"/spec/list/0", "/spec/list/1", "/spec/map/a", "/spec/map/b"}, nil,
	} {
		var paths []string
		var parts []Addition
		for _, a := range found {
			paths, parts = append(paths, a.Path), append(parts, a.Parts()...)
		}
		check.That(t, slices.Equal(paths, want), "parts are %q, want %q", paths, want)
		if len(parts) > 0 && parts[0].Nearness([]string{"spec", "list", "1"}) < 2 {
			t.Errorf("%s is near", parts[0].Path)
		}
		found = parts
	}
	list := Additions(desired, object, nil, nil, Options{})[0].Parts()[0].Parts()
	if got, want := Without(object, list[:1]), obj(t,
		`{apiVersion: e/v1, kind: E, metadata: {name: x}, spec: {map: {a: 1, b: 2}, list: [2], z: 1}}`,
	); !reflect.DeepEqual(got, want) {
		t.Errorf("without an element it is %v", got)
	}
}
