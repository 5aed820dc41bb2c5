package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// lookupChart keeps a generated password, and copies parts of the cluster.
const lookupChart = `{{- $kept := lookup "v1" "Secret" .Release.Namespace "shop" }}
{{- $token := lookup "v1" "Secret" .Release.Namespace "token" }}
apiVersion: v1
kind: Secret
metadata: {name: shop}
data:
  password: {{ if $kept }}{{ $kept.data.password }}{{ else }}{{ randAlphaNum 20 | b64enc }}{{ end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data:
  color: {{ .Values.color | default "green" }}
  region: {{ dig "data" "region" "nowhere" (lookup "v1" "ConfigMap" .Release.Namespace "shared") }}
  listed: "{{ range (lookup "v1" "ConfigMap" .Release.Namespace "").items }}{{ get (.data | default dict) "region" }}{{ end }}"
  gone: {{ lookup "v1" "ConfigMap" .Release.Namespace "none" | len | quote }}
{{- if eq (.Values.color | default "green") "red" }}
  url: "https://me:{{ $token.data.token | b64dec }}@example.org"
  {{ $token.data.token | b64dec }}: key
{{- end }}
`

// installLookups installs a chart that copies parts of the cluster.
func (w *fixture) installLookups(h cluster.Helm, template string) {
	w.Helper()
	w.Kubectl("create", "configmap", "shared", "--from-literal=region=north")
	w.Kubectl("create", "secret", "generic", "token", "--from-literal=token="+secretValue)
	w.Helm(h, "install", "shop", w.Chart("shop", template))
}

// Only with --lookup does a chart that reads the cluster render to its manifest. Helm then does as the command says.
func TestValuesWithLookup(t *testing.T) {
	// The list has the ConfigMap of the release from its second revision on.
	template := strings.Replace(lookupChart, `{{ get (.data | default dict) "region" }}`,
		`{{ if eq .metadata.name "shared" }}{{ .data.region }}{{ end }}`, 1)
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.installLookups(helm, template)
		w.app("values", "shop", "configmap/shop", "data.region=south").says(2,
			"note: lookup finds nothing without --lookup; it is called in shop/templates/all.yaml\n",
			"governed by no value: the chart does not render to the recorded value: "+
				"shop/templates/all.yaml calls lookup, which finds nothing without --lookup;")
		if r := w.app("values", "shop", "configmap/shop", "data.color=blue"); strings.Contains(r.stdout, "run ") {
			t.Errorf("it prints a command that is not verified:\n%s", r.stdout)
		}
		w.app("values", "shop", "configmap/shop", "data.region=south", "--lookup").says(2,
			"governed by no value: lookup, which reads the cluster, in shop/templates/all.yaml\n")

		// The user needs the rights to read, and no others.
		w.as("keeper", rule("get,list", "", "secrets")).app("values", "shop", "configmap/shop", "data.color=blue",
			"--lookup").says(1, "does not render", `configmaps "shared" is forbidden: User "keeper"`)
		reader := w.as("reader", rule("get,list", "", "secrets,configmaps"))
		reader.app("values", "shop", "configmap/shop", "data.color=blue", "--lookup").is(0,
			`ConfigMap APPS/shop  data[color]: green -> blue
  value    color  (not set)
  changes  this field only (rendered with chart shop-0.1.0 as recorded in revision 1)
  run      helm upgrade shop shop-0.1.0.tgz -n APPS --reset-then-reuse-values --set color=blue
`, strings.Replace(chartNote, "shop-1.4.2", "shop-0.1.0", 1))
		const live = `jsonpath={.items[*].data.password} {.items[*].data.color} {.items[*].data.region}`
		was := w.Kubectl("get", "secret/shop", "configmap/shop", "-o", live)
		w.Helm(helm, "upgrade", "shop", w.Chart("shop", template), "--reset-then-reuse-values", "--set", "color=blue")
		want := strings.Replace(was, "green", "blue", 1)
		got := w.Kubectl("get", "secret/shop", "configmap/shop", "-o", live)
		check.That(t, got == want, "the live objects have %s\nwant %s", got, want)
	})
}

// A value of a Secret is not printed, wherever a template puts it.
func TestValuesWithLookupOfSecrets(t *testing.T) {
	w := newFixture(t)
	head, rest, _ := strings.Cut(lookupChart, "  region")
	_, tail, _ := strings.Cut(rest, "{{- if eq")
	w.installLookups(kit.Shared.Helm4(), head+"{{- if eq"+tail)
	for _, format := range []string{"text", "json"} {
		r := w.app("values", "shop", "configmap/shop", "data.color=red", "--lookup", "-o", format)
		r.says(0, "<secret X>", "color", "https://me:")
		check.That(t, !givesAway(r.raw+r.stderr), "it gives a Secret away:\n%s%s", r.stdout, r.stderr)
	}
	w.app("values", "shop", "configmap/shop", "data.color=red", "--lookup", "--show-secrets").says(0,
		"https://me:"+secretValue+"@example.org", "data["+secretValue+"]")

	w.Helm(kit.Shared.Helm4(), "install", "broken", w.Chart("broken", `apiVersion: v1
kind: ConfigMap
metadata: {name: broken}
data: {a: b}
{{- if gt .Release.Revision 1 }}
{{- $token := lookup "v1" "Secret" .Release.Namespace "token" }}
{{- fail (print (repeat 295 "x") (b64dec $token.data.token)) }}
{{- end }}
`))
	r := w.app("values", "broken", "configmap/broken", "data.a=c", "--lookup")
	r.says(1, "does not render", "xxx<secret X>")
	check.That(t, !givesAway(r.stderr) && !strings.Contains(r.stderr, secretValue[:6]), "it gives a Secret away: %s",
		r.stderr)
	w.app("values", "broken", "configmap/broken", "data.a=c").says(1, "does not render",
		"broken/templates/all.yaml calls lookup, which finds nothing without --lookup")
}

// Templates look up as much as they like, and any name.
func TestValuesWithHostileLookups(t *testing.T) {
	for name, test := range map[string]struct{ bomb, want string }{
		"many":   {`{{ range until 600 }}{{ lookup "v1" "ConfigMap" "x" (print "a" .) }}{{ end }}`, "more than 500 objects"},
		"path":   {`{{ lookup "v1" "ConfigMap" "x" "../../../pods" }}`, `"../../../pods" is no name`},
		"api":    {`{{ lookup "none.example.org/v1" "Thing" "x" "y" }}`, "the API none.example.org/v1: "},
		"nobody": {`{{ if lookup "v1" "Nobody" "x" "y" }}{{ fail "found" }}{{ end }}`, "data[a]: x -> y"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.Helm(kit.Shared.Helm4(), "install", name, w.Chart("bomb", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+
				name+"}\ndata: {a: {{ .Values.a | default \"x\" }}}\n{{ if gt .Release.Revision 1 }}"+test.bomb+"{{ end }}\n"))
			r := w.app("values", name, "configmap/"+name, "data.a=y", "--lookup", "--timeout", "10s")
			check.That(t, strings.Contains(r.stdout+r.stderr, test.want) && len(r.stderr) <= 1000,
				"exit code %d, want %q: %s%s", r.code, test.want, r.stdout, r.stderr)
		})
	}
}
