package manifest_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// leak stands for the secret values of a manifest; no error may contain it.
const leak = "hunter2"

func mustParse(t *testing.T, text string) *manifest.Set {
	t.Helper()
	set, err := manifest.Parse(text)
	check.Must(t, err == nil, "%v\n%s", err, text)
	return set
}

// ids lists objects one by one, as in "ConfigMap a, Deployment ns/b".
func ids(objects []manifest.Object) string {
	var names []string
	for _, o := range objects {
		names = append(names, o.ID.String())
	}
	return strings.Join(names, ", ")
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func TestParseFindsTheObjectsOf(t *testing.T) {
	a, b := configMap("a"), configMap("b")
	for name, test := range map[string]struct{ manifest, want string }{
		"nothing":                            {"", ""},
		"blank lines":                        {" \n\n", ""},
		"separators only":                    {"---\n---\n---\n", ""},
		"comments only":                      {"---\n# Source: a\n# nothing\n---\n#\n", ""},
		"a null document":                    {"---\nnull\n---\n~\n---\n" + a, "ConfigMap a"},
		"one object without separator":       {a, "ConfigMap a"},
		"objects in the manifest's order":    {b + "---\n" + a, "ConfigMap b, ConfigMap a"},
		"empty documents in between":         {"---\n" + a + "---\n\n---\n# none\n---\n" + b + "---\n", "ConfigMap a, ConfigMap b"},
		"separators with spaces":             {"---   \n" + a + "--- \t\n" + b, "ConfigMap a, ConfigMap b"},
		"separators with comments":           {"--- # first\n" + a + "---# second\n" + b, "ConfigMap a, ConfigMap b"},
		"a separator at the very end":        {a + "---", "ConfigMap a"},
		"no line end at the end":             {"---\n" + strings.TrimSpace(a), "ConfigMap a"},
		"Windows line ends":                  {strings.ReplaceAll("---\n# Source: x\n"+a+"---\n"+b, "\n", "\r\n"), "ConfigMap a, ConfigMap b"},
		"a byte order mark":                  {"\ufeff---\n" + a, "ConfigMap a"},
		"a byte order mark and no separator": {"\ufeff" + a, "ConfigMap a"},
		"dashes in a block of text": {a + "data:\n  pem: |\n    ---\n    -----BEGIN X-----\n---\n" +
			b, "ConfigMap a, ConfigMap b"},
		"JSON":                   {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, "ConfigMap a"},
		"JSON after a separator": {"---\n" + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, "ConfigMap a"},
		"a stream of JSON": {
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, "ConfigMap a, ConfigMap b",
		},
		"JSON and then YAML": {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}` +
			"\n---\n" + b, "ConfigMap a, ConfigMap b"},
		"a List": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: ns}}", "Secret a, Deployment ns/b",
		},
		"an empty List":  {"apiVersion: v1\nkind: List\nitems: []\n", ""},
		"a List of null": {"apiVersion: v1\nkind: ConfigMapList\nitems:\n", ""},
		"a List in a List": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}", "Secret a",
		},
		"a typed list with typed items": {
			"apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
			"ConfigMap a",
		},
		"a typed list with untyped items": {
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleList\nitems:\n- {metadata: {name: a}}\n- {metadata: {name: b}}", "Role a, Role b",
		},
		"a kind that only sounds like a list": {"apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}",
			"AllowList.x.io a"},
		"a custom resource": {
			"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a, namespace: ns}",
			"Certificate.cert-manager.io ns/a",
		},
		"two versions of a kind are one kind": {
			"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}", "HorizontalPodAutoscaler a",
		},
		"one name in two namespaces": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: x}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}", "Secret x/a, Secret a",
		},
		"a name with generateName": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, generateName: b}", "Secret a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(mustParse(t, test.manifest).Objects)
			check.That(t, got == test.want, "got %s\nwant %s", got, test.want)
		})
	}
}

func TestParseSkipsAndSaysSo(t *testing.T) {
	hook := "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-upgrade}\n"
	for name, test := range map[string]struct{ manifest, want string }{
		"a hook": {configMap("a") + "---\n" + hook,
			"Job migrate in document 2: it is a hook: Helm runs it and does not manage it"},
		"generateName without name": {"---\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}",
			"Job run- in document 2: it has generateName and no name, so that its live name is not known"},
		"a List that is a hook": {
			"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: test}}\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]", "List in document 1: it is a hook: Helm runs it and does not manage it",
		},
		"text after the end": {configMap("a") + "...\n" + configMap("b"),
			"in document 1: Helm ignores what follows the end of the document"},
		"JSON after JSON in YAML": {"---\n" + `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}` +
			"\n{}", "in document 1: Helm ignores what follows the end of the document"},
		"an object declared earlier": {configMap("a") + "---\n" + configMap("b") + "---\n" +
			configMap("a"), "ConfigMap a in document 1: it is declared again later, and the last declaration counts"},
	} {
		t.Run(name, func(t *testing.T) {
			set := mustParse(t, test.manifest)
			check.That(t, len(set.Skipped) == 1 && set.Skipped[0].String() == test.want, "got %v\nwant %s", set.Skipped,
				test.want)
		})
	}
}

func TestOfDuplicatesTheLastCountsAtItsOwnPlace(t *testing.T) {
	set := mustParse(t, configMap("a")+"data: {v: first}\n---\n"+configMap("b")+"---\n"+configMap("a")+
		"data: {v: last}\n")
	got := ids(set.Objects)
	check.Must(t, got == "ConfigMap b, ConfigMap a", "got %s", got)
	data := set.Objects[1].Content["data"]
	check.That(t, reflect.DeepEqual(data, map[string]any{"v": "last"}), "got %v", data)
}

func TestParseRejectsAllForOneBadDocument(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	bomb := configMap("a") + "data:\n  a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	long := configMap("a") + "data:\n  a: &a " + strings.Repeat("x", 200<<10) + "\n  b: [" +
		strings.TrimSuffix(strings.Repeat("*a,", 500), ",") + "]\n"
	lists := strings.Repeat("{apiVersion: v1, kind: List, items: [", 10) + strings.Repeat("]}", 10)

	for name, test := range map[string]struct{ bad, want string }{
		"text at the top":                {leak, "mapping is needed at the top"},
		"a number at the top":            {"7212", "mapping is needed at the top"},
		"a sequence at the top":          {"- " + leak, "mapping is needed at the top"},
		"no apiVersion":                  {"kind: " + leak + "\nmetadata: {name: a}", "no apiVersion"},
		"no kind":                        {"apiVersion: v1\nmetadata: {name: " + leak + "}", "no kind"},
		"no metadata":                    {"apiVersion: v1\nkind: Secret", "no metadata.name"},
		"no name":                        {"apiVersion: v1\nkind: Secret\nmetadata: {namespace: a}", "no metadata.name"},
		"an empty name":                  {"apiVersion: v1\nkind: Secret\nmetadata: {name: ''}", "no metadata.name"},
		"a name that is a number":        {"apiVersion: v1\nkind: Secret\nmetadata: {name: 7212}", "name is not text"},
		"an apiVersion that is a number": {"apiVersion: 1\nkind: Secret\nmetadata: {name: a}", "apiVersion is not text"},
		"an apiVersion with two slashes": {"apiVersion: a/b/" + leak +
			"\nkind: Secret\nmetadata: {name: a}", "not of the form"},
		"an apiVersion without a version": {"apiVersion: apps/\nkind: Secret\nmetadata: {name: a}", "not of the form"},
		"a kind that is a list":           {"apiVersion: v1\nkind: [" + leak + "]\nmetadata: {name: a}", "kind is not text"},
		"metadata that is text":           {"apiVersion: v1\nkind: Secret\nmetadata: " + leak, "metadata is not a mapping"},
		"annotations that are text": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: " +
			leak + "}", "annotations is not a mapping"},
		"a namespace that is a boolean": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: yes}",
			"namespace is not text"},
		"items that are text":  {"apiVersion: v1\nkind: List\nitems: " + leak, "items of a List"},
		"an item that is text": {"apiVersion: v1\nkind: List\nitems: [" + leak + "]", "item of a List"},
		"an item without kind in a bad item": {
			"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, metadata: {name: a}}]", "no kind",
		},
		"a broken mapping":                    {configMap("a") + "data:\n  password: " + leak + "\n bad: x", "not valid YAML"},
		"an open quote":                       {configMap("a") + "data:\n  password: \"" + leak, "not valid YAML"},
		"a colon in plain text":               {configMap("a") + "data:\n  password: " + leak + ": x", "mapping values are not allowed"},
		"a tab for indentation":               {configMap("a") + "data:\n\tpassword: " + leak, "not valid YAML"},
		"an unknown anchor":                   {configMap("a") + "data: *" + leak, "unknown anchor"},
		"an anchor inside itself":             {configMap("a") + "data: &" + leak + " {a: *" + leak + "}", "value contains itself"},
		"a value that does not fit its tag":   {configMap("a") + "data: {a: !!int " + leak + "}", "not valid YAML"},
		"a merge of text":                     {configMap("a") + "data:\n  <<: " + leak, "map merge requires"},
		"a key that is a mapping":             {configMap("a") + "data:\n  {" + leak + ": 1}: 2", "not valid YAML"},
		"a key that is null":                  {configMap("a") + "data:\n  ~: " + leak, "neither text, number nor boolean"},
		"keys that are one key in JSON":       {configMap("a") + "data: {1: " + leak + ", '1': b}", "same in JSON"},
		"a number that is not finite":         {configMap("a") + "data: {a: .nan}", "not finite"},
		"a control character":                 {configMap("a") + "data: {a: \x01" + leak + "}", "control characters"},
		"bytes that are not UTF-8":            {configMap("a") + "data: {a: \xff" + leak + "}", "not valid YAML"},
		"nesting without end":                 {configMap("a") + "data: " + deep, "nests deeper than 500"},
		"nesting beyond what the parser does": {configMap("a") + "data: " + strings.Repeat("[", 20000), "exceeded max depth"},
		"Lists in Lists without end":          {lists, "Lists nest deeper"},
		"an alias bomb":                       {bomb, "excessive aliasing"},
		"an alias bomb of long text":          {long, "aliases expand to too much"},
		"a separator that is none":            {"-----BEGIN " + leak, "no document separator"},
		"content on the separator":            {"--- {" + leak + "}", "no document separator"},
		"a YAML directive":                    {"%YAML 1.1", "not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Parse(configMap("good") + "---\n" + test.bad + "\n---\n" + configMap("fine"))
			check.Must(t, err != nil, "it is parsed")
			check.That(t, set == nil, "there is a set besides the error")
			check.That(t, strings.Contains(err.Error(), test.want), "got %v, want %q", err, test.want)
			check.That(t, !strings.Contains(err.Error(), leak) && !strings.Contains(err.Error(), "7212"),
				"the error leaks the document: %v", err)
			var docErr *manifest.DocumentError
			check.That(t, errors.As(err, &docErr) && docErr.Line >= 5, "the error does not tell the place: %#v", err)
		})
	}
}

func TestErrorsNameDocumentSourceAndLine(t *testing.T) {
	text := "---\n# Source: podinfo/templates/a.yaml\n" + configMap("a") + // lines 1 to 6
		"---\n# Source: podinfo/templates/b.yaml\n\n" + // 7 to 9
		configMap("b") + "data:\n  x: 1\n  y: z: " + leak + "\n" // bad in 16
	for name, test := range map[string]struct{ manifest, want string }{
		"bad YAML": {
			text, "document 2 (# Source: podinfo/templates/b.yaml), line 16: it is not valid YAML: mapping values are not allowed in this context",
		},
		"a bad object": {"---\n# Source: x/y.yaml\n\nkind: Secret\n",
			"document 1 (# Source: x/y.yaml), line 4: an object has no apiVersion"},
		"Windows line ends": {"---\r\n# Source: x/y.yaml\r\n\r\nkind: Secret\r\n",
			"document 1 (# Source: x/y.yaml), line 4: an object has no apiVersion"},
		"no source": {"kind: Secret\n", "document 1, line 1: an object has no apiVersion"},
		"a source with secrets": {"# Source: my secret is " + leak + "\nkind: Secret\n",
			"document 1, line 2: an object has no apiVersion"},
		"a stream of JSON": {
			"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}\n\n{\"kind\":\n\"x\"}",
			"document 2, line 3: an object has no apiVersion",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse(test.manifest)
			check.That(t, err != nil && err.Error() == test.want, "got  %v\nwant %s", err, test.want)
		})
	}
}

func TestUntypedItemsGetTheirTypeInTheContentToo(t *testing.T) {
	set := mustParse(t, "apiVersion: apps/v1\nkind: DeploymentList\nitems: [{metadata: {name: a}}]")
	o := set.Objects[0]
	check.That(t,
		o.GVK.String() == "apps/v1, Kind=Deployment" && o.Content["kind"] == "Deployment" &&
			o.Content["apiVersion"] == "apps/v1", "got %s with %v", o.GVK, o.Content)
}
