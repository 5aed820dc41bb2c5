package drift

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// edit is a sequence of old, new replacements in the YAML of the live object, each of which must match once.
type edit []string

func (e edit) apply(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(e); i += 2 {
		check.Must(t, strings.Count(text, e[i]) == 1, "%q is in the object %d times", e[i], strings.Count(text, e[i]))
		text = strings.Replace(text, e[i], e[i+1], 1)
	}
	return text
}

func TestDeployment(t *testing.T) {
	const pod = "/spec/template/spec"
	for name, tc := range map[string]struct {
		edit    edit
		want    []string
		foreign bool
		target  edit // what the target is, as an edit of the untampered live object; empty: that object itself
	}{
		"defaults, status and server-owned metadata are no drift": {},
		"a changed replica count is put back": {
			edit: edit{"replicas: 2\n  sel", "replicas: 5\n  sel"},
			want: []string{"Modified /spec/replicas"},
		},
		"a removed label is put back beside foreign ones": {
			edit: edit{"Helm, app: web, team", "Helm, team"},
			want: []string{"Removed /metadata/labels/app"},
		},
		"removed ownership annotations are found by escaped paths": {
			edit: edit{"meta.helm.sh/release-name: web, ", ""},
			want: []string{"Removed /metadata/annotations/meta.helm.sh~1release-name"},
		},
		"labels that are all gone come back as a whole": {
			edit:   edit{"\n  labels: {app.kubernetes.io/managed-by: Helm, app: web, team: blue}", ""},
			want:   []string{"Removed /metadata/labels"},
			target: edit{", team: blue", ""},
		},
		"a foreign label, annotation and sidecar stay": {
			edit: edit{"team: blue", "team: red, more: x", "      - name: proxy\n",
				"      - {name: sidecar, image: x}\n      - name: proxy\n"},
		},
		"an image is put back and the defaults of its container stay": {
			edit: edit{"image: web:1\n        imagePull", "image: evil:1\n        imagePull"},
			want: []string{"Modified " + pod + "/containers/0/image"},
		},
		"a removed container comes back at its place, before a foreign one that was appended": {
			edit: edit{"      - name: proxy\n        image: proxy:3\n        imagePullPolicy: IfNotPresent\n        ports: [{containerPort: 8443, protocol: TCP}]\n        resources: {}\n",
				"      - {name: x, image: x}\n      - {name: y, image: y}\n"},
			want: []string{"Removed " + pod + "/containers/1"},
			target: edit{"        imagePullPolicy: IfNotPresent\n        ports: [{containerPort: 8443, protocol: TCP}]\n        resources: {}\n",
				"        ports: [{containerPort: 8443}]\n      - {name: x, image: x}\n      - {name: y, image: y}\n"},
		},
		"a renamed container is renamed back and keeps what others set in it": {
			edit: edit{"      - name: proxy\n        image: proxy:3\n",
				"      - name: other\n        image: proxy:3\n        tty: true\n"},
			want:    []string{"Added " + pod + "/containers/1", "Removed " + pod + "/containers/1"},
			foreign: true,
			target:  edit{"image: proxy:3\n", "image: proxy:3\n        tty: true\n"},
		},
		"swapped init containers are put in order": {
			edit: edit{"{name: migrate, image: web:1, command: [migrate, --all], resources: {}, imagePullPolicy: IfNotPresent}\n      - {name: warm, image: web:1, resources: {}, imagePullPolicy: IfNotPresent}",
				"{name: warm, image: web:1, resources: {}, imagePullPolicy: IfNotPresent}\n      - {name: injected}\n      - {name: migrate, image: web:1, command: [migrate, --all], resources: {}, imagePullPolicy: IfNotPresent}"},
			want:   []string{"Modified " + pod + "/initContainers"},
			target: edit{"      - {name: warm,", "      - {name: injected}\n      - {name: warm,"},
		},
		"swapped volumes are no drift, since their order means nothing": {
			edit: edit{"{name: tmp, emptyDir: {}}\n      - {name: config, configMap: {name: web, defaultMode: 420}}",
				"{name: config, configMap: {name: web, defaultMode: 420}}\n      - {name: tmp, emptyDir: {}}"},
		},
		"a variable that moved behind its use is put in order": {
			edit: edit{"        - name: POD\n          valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}\n        - {name: URL, value: http://$(POD)}\n",
				"        - {name: URL, value: http://$(POD)}\n        - name: POD\n          valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}\n"},
			want: []string{"Modified " + pod + "/containers/0/env"},
		},
		"a renamed variable is renamed back": {
			edit:    edit{"name: MODE", "name: MOOD"},
			want:    []string{"Added " + pod + "/containers/0/env/0", "Removed " + pod + "/containers/0/env/0"},
			foreign: true,
		},
		"a second variable of a declared name overrides it and goes": {
			edit:    edit{"value: http://$(POD)}\n", "value: http://$(POD)}\n        - {name: MODE, value: debug}\n"},
			want:    []string{"Added " + pod + "/containers/0/env/4"},
			foreign: true,
		},
		"a variable's value that was replaced by a reference loses the reference": {
			edit:    edit{"{name: MODE, value: prod}", "{name: MODE, valueFrom: {fieldRef: {fieldPath: x}}}"},
			want:    []string{"Removed " + pod + "/containers/0/env/0/value", "Added " + pod + "/containers/0/env/0/valueFrom"},
			foreign: true,
		},
		"an empty value that was replaced by a reference is not taken for the empty value that the server drops": {
			edit:    edit{"{name: EMPTY}", "{name: EMPTY, valueFrom: {fieldRef: {fieldPath: x}}}"},
			want:    []string{"Removed " + pod + "/containers/0/env/1/value", "Added " + pod + "/containers/0/env/1/valueFrom"},
			foreign: true,
			target:  edit{"{name: EMPTY}", `{name: EMPTY, value: ""}`},
		},
		"an empty value that got one is emptied": {
			edit:   edit{"{name: EMPTY}", "{name: EMPTY, value: x}"},
			want:   []string{"Modified " + pod + "/containers/0/env/1/value"},
			target: edit{"{name: EMPTY}", `{name: EMPTY, value: ""}`},
		},
		"an emptyDir that became a hostPath is an emptyDir again, and only that": {
			edit:    edit{"{name: tmp, emptyDir: {}}", "{name: tmp, hostPath: {path: /}}"},
			want:    []string{"Removed " + pod + "/volumes/0/emptyDir", "Added " + pod + "/volumes/0/hostPath"},
			foreign: true,
		},
		"a probe of another sort is replaced and keeps its defaults": {
			edit: edit{"{httpGet: {path: /healthz, port: http, scheme: HTTP}, periodS", "{tcpSocket: {port: 1}, periodS"},
			want: []string{"Removed " + pod + "/containers/0/livenessProbe/httpGet", "Added " + pod +
				"/containers/0/livenessProbe/tcpSocket"},
			foreign: true,
			target:  edit{", scheme: HTTP", ""},
		},
		"a changed strategy takes its dependent settings along": {
			edit:    edit{"strategy: {type: Recreate}", "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}"},
			want:    []string{"Added /spec/strategy/rollingUpdate", "Modified /spec/strategy/type"},
			foreign: true,
		},
		"an edited port is one port again, and UDP and TCP on one number are two": {
			edit:    edit{"{name: dns, containerPort: 53, protocol: UDP}", "{name: dns, containerPort: 54, protocol: UDP}"},
			want:    []string{"Added " + pod + "/containers/0/ports/1", "Removed " + pod + "/containers/0/ports/1"},
			foreign: true,
		},
		"a port that turned UDP although TCP is only the default is restored as TCP": {
			edit:    edit{"{name: http, containerPort: 80, protocol: TCP}", "{name: http, containerPort: 80, protocol: UDP}"},
			want:    []string{"Added " + pod + "/containers/0/ports/0", "Removed " + pod + "/containers/0/ports/0"},
			foreign: true,
		},
		"an argument that was added to an atomic list goes": {
			edit: edit{`args: [--port, "80"]`, `args: [--port, "80", --debug]`},
			want: []string{"Modified " + pod + "/containers/0/args"},
		},
		"a swapped atomic list is put in order, with what the server added": {
			edit: edit{"{key: dedicated, operator: Exists}\n      - {key: spot, operator: Exists, effect: NoSchedule}",
				"{key: spot, operator: Exists, effect: NoSchedule, added: 1}\n      - {key: dedicated, operator: Exists}"},
			want:   []string{"Modified " + pod + "/tolerations"},
			target: edit{"effect: NoSchedule}", "effect: NoSchedule, added: 1}"},
		},
		"an element that was tampered with inside of an atomic list is reported by its field": {
			edit: edit{"key: spot", "key: spotty"},
			want: []string{"Modified " + pod + "/tolerations/1/key"},
		},
		"a limit that lost its map comes back": {
			edit: edit{"{limits: {cpu: \"1\", memory: 1Gi}}", "{}"},
			want: []string{"Removed " + pod + "/containers/0/resources/limits"},
		},
		"a lost empty securityContext is drift, since the server keeps it": {
			edit: edit{"      securityContext: {}\n", ""},
			want: []string{"Removed " + pod + "/securityContext"},
		},
	} {
		t.Run(name, comparison{desired: deployment, live: tc.edit.apply(t, deploymentLive), want: tc.want,
			foreign: tc.foreign, target: tc.target.apply(t, deploymentLive)}.run)
	}
}
