package drift

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// sameOwner checks that ManagedIn finds what ManagedBy finds, and returns that.
func sameOwner(t testing.TB, live map[string]any) Owner {
	t.Helper()
	u := &unstructured.Unstructured{Object: live}
	want, got := ManagedBy(u.GetManagedFields()), ManagedIn(u)
	if got != want {
		t.Errorf("got %+v, want %+v for %s", got, want, jsonOf(t, live))
	}
	return want
}

func TestManagedInIsManagedBy(t *testing.T) {
	for name, fields := range map[string]string{
		"the owner":                `[{"manager": "helm", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}}]`,
		"a status":                 `[{"manager": "helm", "subresource": "status", "fieldsV1": {"f:meta.helm.sh/release-name": {}}}]`,
		"a status without its own": `[{"manager": "helm", "subresource": null, "fieldsV1": {"f:meta.helm.sh/release-name": {}}}]`,
		"as text":                  `[{"manager": "helm", "fieldsV1": "f:meta.helm.sh/release-name"}]`,
		"as elements":              `[{"manager": "helm", "fieldsV1": [{"f:meta.helm.sh/release-name": 1}, 2.5, null, true]}]`,
		"after a quote":            `[{"manager": "helm", "fieldsV1": {"x\"f:meta.helm.sh/release-name": {}}}]`,
		"in quotes":                `[{"manager": "helm", "fieldsV1": {"k:{\"name\":\"f:meta.helm.sh/release-name\"}": {}}}]`,
		"after something else":     `[{"manager": "helm", "fieldsV1": {"xf:meta.helm.sh/release-name": {}}}]`,
		"no entries":               `[]`,
		"no list":                  `{"manager": "helm"}`,
	} {
		t.Run(name, func(t *testing.T) { sameOwner(t, withManagers(t, fields)) })
	}
	for _, odd := range []string{
		`"operation": 7`, `"manager": true`, `"apiVersion": {}`, `"fieldsType": []`, `"subresource": 1.5`,
		`"time": "today"`, `"time": 1`, `"time": ""`, `"x": 1`,
		`"fieldsV1": null`, `"time": null`, `"time": "2026-01-01T00:00:00Z"`, `"time": "2026-01-01T00:00:00.5+01:00"`,
		`"manager": "x"`,
	} {
		t.Run(odd, func(t *testing.T) {
			const good = `{"manager": "helm", "operation": "Apply", "fieldsV1": {"f:meta.helm.sh/release-name": {}}}`
			sameOwner(t, withManagers(t, `[`+good+`, {`+odd+`}]`))
			sameOwner(t, withManagers(t, `[`+good+`, null]`))
			sameOwner(
				t, withManagers(
					t, `[{"fieldsV1": {"f:app.kubernetes.io/managed-by":{}, "f:meta.helm.sh/release-name": {}}, `+odd+
						`}, `+good+`]`,
				),
			)
		})
	}
	for _, live := range []map[string]any{nil, {}, {"metadata": nil}, {"metadata": "x"},
		{"metadata": map[string]any{"managedFields": []any{"x"}}}} {
		sameOwner(t, live)
	}
	known, random := 0, rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		if sameOwner(t, map[string]any{"metadata": map[string]any{"managedFields": anyManagers(random)}}).Known {
			known++
		}
	}
	if known < 2000 {
		t.Errorf("only %d had an owner", known)
	}
}

func withManagers(t testing.TB, fields string) map[string]any {
	t.Helper()
	var live map[string]any
	if err := json.Unmarshal([]byte(`{"metadata": {"managedFields": `+fields+`}}`), &live); err != nil {
		t.Fatal(err)
	}
	return live
}

// anyManagers makes entries of managedFields, most of them well formed.
func anyManagers(r *rand.Rand) []any {
	pick := func(from ...any) any { return from[r.IntN(len(from))] }
	names := []any{helmMarkers[0], helmMarkers[1], helmMarkers[2], "f:spec", ".", `k:{"name":"` + helmMarkers[0] +
		`"}`, `x"` + helmMarkers[0], `x\` + helmMarkers[1], "é\u2028<\xff" + helmMarkers[2]}
	var fields func(depth int) any
	fields = func(depth int) any {
		if depth > 3 || r.IntN(8) == 0 {
			return pick(map[string]any{}, nil, "x", helmMarkers[0], true, int64(1), 1.5, []any{helmMarkers[1]})
		}
		below := map[string]any{}
		for range r.IntN(4) {
			below[pick(names...).(string)] = fields(depth + 1)
		}
		return below
	}
	entries := []any{}
	for range r.IntN(5) {
		entry := map[string]any{"manager": pick("helm", "helm", "kubectl", "xhelm", "\xff"),
			"operation": pick("Apply", "Update"), "fieldsV1": fields(0),
			"time": pick("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T01:00:01+01:00",
				"2026-01-01T00:00:02Z"), "apiVersion": "v1", "fieldsType": "FieldsV1",
			"subresource": pick("", "", "", "status", nil)}
		if r.IntN(200) == 0 {
			field := pick("manager", "operation", "fieldsV1", "time", "apiVersion", "fieldsType",
				"subresource").(string)
			entry[field] = pick(nil, int64(1), 1.5, 2.0, true, "", "x", "2026-01-01T00:00:00+01:00", map[string]any{},
				[]any{}, map[string]any(nil), []any(nil))
		}
		entries = append(entries, entry)
	}
	return entries
}

func TestOfTwoToolsTheOneThatWroteLastIsHelm(t *testing.T) {
	const at, later = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	entry := func(manager, operation, at, more string) string {
		return fmt.Sprintf(`{"manager": %q, "operation": %q, "time": %q, "fieldsV1": %s}`, manager, operation, at,
			helmFields[:len(helmFields)-1]+more+"}")
	}
	for name, c := range map[string]struct {
		fields, want string
	}{
		"the older is named first": {entry("helm-controller", "Apply", at, "") + "," +
			entry("helm", "Apply", later, ""), "helm"},
		"the newer is named first": {entry("helm", "Apply", later, "") + "," +
			entry("helm-controller", "Apply", at, ""), "helm"},
		"Flux wrote last": {entry("helm", "Apply", at, `,"f:data":{}`) + "," +
			entry("helm-controller", "Apply", later, ""), "helm-controller"},
		"an update after an apply": {entry("helm-controller", "Apply", at, "") + "," +
			entry("helm", "Update", later, ""), "helm"},
		"an apply after an update": {entry("helm", "Apply", later, "") + "," +
			entry("helm-controller", "Update", at, ""), "helm"},
		"a tie, and one owns more": {entry("helm", "Apply", at, "") + "," +
			entry("helm-controller", "Apply", at, `,"f:data":{"f:key":{}}`), "helm-controller"},
		"a tie in all": {entry("helm-controller", "Apply", at, "") + "," +
			entry("helm", "Apply", at, ""), "helm"},
		"a tie in all, the other way": {entry("helm", "Apply", at, "") + "," +
			entry("helm-controller", "Apply", at, ""), "helm"},
		"who copied the object later": {entry("helm", "Apply", at, "") + "," +
			entry("kubectl", "Apply", later, ""), "helm"},
		"no tool is known by its name": {entry("pulumi", "Apply", at, "") + "," +
			entry("kubectl", "Apply", later, ""), "pulumi"},
		"one that owns less, and is late": {entry("helm", "Apply", at, "") + `, {"manager": "xhelm", "time": "` +
			later + `", "fieldsV1": {"f:meta.helm.sh/release-name": {}}}`, "helm"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameOwner(t, withManagers(t, "["+c.fields+"]")).Manager; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func BenchmarkManaged(b *testing.B) {
	spec := `"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},` +
		`"f:args":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"B\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},` +
		`"f:livenessProbe":{".":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}}}}},"f:serviceAccountName":{}}}}`
	entry := func(manager, subresource, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","subresource":%q,"fieldsV1":%s}`,
			manager, subresource, fields)
	}
	live := &unstructured.Unstructured{Object: withManagers(b,
		"["+entry("helm", "", helmFields[:len(helmFields)-1]+","+spec+"}")+","+
			entry("kube-controller-manager", "status",
				`{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:status":{},"f:type":{}}},"f:replicas":{}}}`)+"]")}
	want := Owner{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate, Known: true}
	for name, owner := range map[string]func() Owner{
		"by": func() Owner { return ManagedBy(live.GetManagedFields()) },
		"in": func() Owner { return ManagedIn(live) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := owner(); got != want {
					b.Fatalf("%+v", got)
				}
			}
		})
	}
}
