package clitest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// valuesChart is a chart with many ways to make a field of a value.
const valuesChart = "../../pkg/values/testdata/shop"

const chartNote = "shop-1.4.2.tgz is the chart recorded in revision 1; --chart-out . writes it\n"

// Helm runs the printed command as it stands there, and the live object is as wanted.
func TestValuesOfAField(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "shop", valuesChart, "--set", "web.replicas=4", "--set", "password="+secretValue)
		w.app("values", "shop", "deployment/shop-web", "spec.replicas=5").is(0,
			`Deployment APPS/shop-web  spec.replicas: 4 -> 5
  value    web.replicas  (4)
  changes  this field only (rendered with chart shop-1.4.2 as recorded in revision 1)
  run      helm upgrade shop shop-1.4.2.tgz -n APPS --reset-then-reuse-values --set web.replicas=5
`, chartNote)
		w.app("values", "shop", "deploy/shop-web", "spec.template.spec.containers[web].ports[0].containerPort=81").is(0,
			`Deployment APPS/shop-web  spec.template.spec.containers[0].ports[0].containerPort: 8080 -> 81
  value    web.port  (8080)
  changes  this field and 2 other fields (rendered with chart shop-1.4.2 as recorded in revision 1)
           and ConfigMap shop  data[settings.ini]: "[shop]\ngreeting=hello\nport=8080\n" -> "[shop]\ngreeting=hello\nport=81\n"
           and Service shop  spec.ports[0].port: 8080 -> 81
  run      helm upgrade shop shop-1.4.2.tgz -n APPS --reset-then-reuse-values --set web.port=81
`, chartNote)
		w.app("values", "shop", "deploy/shop-web", "/spec/template/spec/containers/0/livenessProbe/periodSeconds=5").says(2,
			"governed by no value: a constant in shop/templates/_helpers.tpl:8\n")
		if r := w.app("values", "shop", "secret/shop", "data.password=aHVudGVyMg=="); givesAway(r.raw) ||
			strings.Contains(r.raw, "hunter2") || r.code != 0 {
			t.Errorf("exit code %d, or a Secret is given away: %s%s", r.code, r.stdout, r.stderr)
		} else {
			r.says(0, "run      not printed, because it holds a value of a Secret")
		}
		w.app("values", "shop", "secret/shop", "data.password=aHVudGVyMg==", "--show-secrets").says(0,
			"--set password=hunter2\n")

		// The package stands in for the chart that nobody finds: the next revision is as this one.
		dir, before := t.TempDir(), w.Helm(helm, "get", "manifest", "shop")
		w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--chart-out", dir).says(0,
			"the chart is in "+dir+"/shop-1.4.2.tgz\n", "helm upgrade shop "+dir+"/shop-1.4.2.tgz -n APPS ")
		w.Helm(helm, "upgrade", "shop", dir+"/shop-1.4.2.tgz", "--reset-then-reuse-values")
		after := w.Helm(helm, "get", "manifest", "shop")
		check.That(t, after == before, "the package renders to\n%s\nwant\n%s", after, before)

		run := func(args ...string) {
			t.Helper()
			var out struct{ Items []struct{ Run string } }
			r := w.app(append([]string{"values", "shop", "-o", "json"}, args...)...)
			err := json.Unmarshal([]byte(r.raw), &out)
			check.Must(t, err == nil && len(out.Items) == 1, "%v: %s%s", err, r.raw, r.stderr)
			w.Helm(helm, shellWords(t, strings.Replace(out.Items[0].Run, "shop-1.4.2.tgz", valuesChart, 1))...)
		}
		run("deploy/shop-web", "spec.replicas=6")
		run("deploy/shop-web", "spec.template.spec.containers[web].image=example.org/other:3.0")
		run("deploy/shop-web", "spec.template.spec.containers[web].resources.limits={cpu: 2, memory: 1Gi}")
		run("service/shop", "metadata.annotations[example.org/scrape]=a, b and 'c'")
		got := w.Kubectl("get", "deployment/shop-web", "service/shop", "-o", "jsonpath="+
			`{.items[*].spec.replicas} {.items[*].spec.template.spec.containers[0].image} `+
			`{.items[*].spec.template.spec.containers[0].resources.limits} {.items[*].metadata.annotations.example\.org/scrape}`)
		want := `6 example.org/other:3.0 {"cpu":"2","memory":"1Gi"} a, b and 'c'`
		check.That(t, got == want, "the live objects have %s\nwant %s", got, want)
	})
}

// shellWords returns the arguments of a command line of helm, as a shell takes them.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", `helm() { printf '%s\0' "$@"; }; `+line).Output()
	check.NoError(t, err)
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return words
}

func TestValuesOfWhatDiffers(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", valuesChart)
	w.app("values", "shop").is(0, "", "release APPS/shop has no field that differs from the cluster\n")
	w.Kubectl("patch", "deployment", "shop-web", "--type=merge", "-p",
		`{"spec":{"replicas":7,"minReadySeconds":3,"template":{"metadata":{"annotations":{"note":"by hand"}}}}}`)
	w.Kubectl("patch", "secret", "shop", "-p", `{"stringData":{"password":"`+secretValue+`"}}`)
	r := w.app("values", "shop")
	r.says(0, "spec.replicas: 3 -> 7\n", "--set web.replicas=7\n", "--set web.grace=3\n", "--set 'web.note=by hand'\n",
		"Secret APPS/shop  data[password]: <secret X> -> <secret X>\n")
	check.That(t, !givesAway(r.raw), "it gives a Secret away:\n%s", r.raw)
}

func TestValuesOfBadInput(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "shop", valuesChart)
	w.app("values").says(1, "the name of a release is missing")
	w.app("values", "shop", "deployment/shop-web").says(1, "PATH=VALUE is missing")
	w.app("values", "none", "deployment/shop-web", "spec.replicas=5").says(5, "release APPS/none does not exist")
	w.app("values", "shop", "deployment/none", "spec.replicas=5").says(1, "declares no deployment/none",
		"it declares configmap/shop, deployment/shop-web, secret/shop, service/shop")
	w.app("values", "shop", "shop-web", "spec.replicas=5").says(1, `"shop-web" is no object`, "write KIND/NAME")
	w.app("values", "shop", "deploy/shop-web", "spec.replicas").says(1, `"spec.replicas" has no value`)
	w.app("values", "shop", "deploy/shop-web", "spec..replicas=5").says(1, "has an empty part")
	w.app("values", "shop", "deploy/shop-web", "spec.replicas={").says(1, "is no YAML")
	w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--chart", filepath.Join(t.TempDir(), "none.tgz")).says(1,
		"none.tgz: no such file")
	w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--chart", "main_test.go").says(1, "read the chart")
	w.app("values", "shop", "--chart", "a.tgz", "--chart-out", "b").says(1, "exclude each other")
	w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--kube-version", "x").says(1,
		`"x" is no version of Kubernetes`)
}

// Templates are other people's programs.
func TestValuesOfHostileCharts(t *testing.T) {
	const definitions = `{{ define "r" }}{{ template "r" . }}{{ end }}{{ define "i" }}{{ include "i" . }}{{ include "i" . }}{{ end }}`
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\ndata: {a: x}\n"
	for name, bomb := range map[string]string{
		"endless": `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
		"text":    `{{ $x := "0123456789" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`,
		"repeat":  `{{ repeat 2000000000 "abc" }}`,
		"list":    `{{ until 2000000000 }}`,
		"recurse": `{{ template "r" . }}`,
		"include": `{{ include "i" . }}`,
		"tpl":     `{{ tpl .Values.t . }}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.Helm(kit.Shared.Helm4(), "install", name,
				w.Chart("bomb", definitions+strings.ReplaceAll(object, "name: it", "name: "+name)+`{{ if gt .Release.Revision 1 }}`+bomb+`{{ end }}`),
				"--set-json", `t="{{ tpl .Values.t . }}"`)
			r := w.app("values", name, "configmap/"+name, "data.a=y", "--timeout", "5s")
			r.says(1)
			if !strings.Contains(r.stderr, "rendering the chart") && !strings.Contains(r.stderr, "does not render") {
				t.Errorf("%s", r.stderr)
			}
			check.That(t, len(r.stderr) <= 1000, "it prints %d bytes", len(r.stderr))
		})
	}
}

// The file of values that is kept in Git gets the value, and keeps the rest.
func TestValuesAreWritten(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", valuesChart)
	file := filepath.Join(t.TempDir(), "values.yaml")
	check.NoError(t, os.WriteFile(file, []byte("# of the shop\nweb:\n  note: mine # kept\n"), 0o600))
	w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--write", file).says(0, "--set web.replicas=5\n")
	got, err := os.ReadFile(file)
	check.NoError(t, err)
	want := "# of the shop\nweb:\n  note: mine # kept\n  replicas: 5\n"
	check.That(t, string(got) == want, "the file is\n%s\nwant\n%s", got, want)
	w.app("values", "shop", "deploy/shop-web", "spec.replicas=5", "--write", "main_test.go").says(1, "main_test.go")
}

// A template may fail with any words of its author, or quote its input.
func TestValuesOfAChartThatQuotesASecret(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", `apiVersion: v1
kind: Secret
metadata: {name: shop}
stringData: {password: "{{ .Values.password }}"}
{{ if gt .Release.Revision 1 }}{{ fail (print "no: " .Values.password (b64enc .Values.password)) }}{{ end }}
`), "--set", "password="+secretValue)
	r := w.app("values", "shop", "secret/shop", "stringData.password=other")
	r.says(1, "does not render", "no: <secret X>")
	check.That(t, !givesAway(r.stderr+r.raw), "it gives a Secret away: %s", r.stderr)
}
